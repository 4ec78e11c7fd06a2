#pragma once

#include <kinetograph/kernels/hip/gfx950/passes/filter_pack_params.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/frame_moves.hpp>

namespace kinetograph::gfx950 {

/// From F32, or from kTo if that has 16 bits.
template <Element kFrom, Element kTo>
struct FilterPackKernel {
    const FilterPackParams& params;
    uint32_t filter = amd::workgroup_index().y, parity = amd::workgroup_index().z;
    amd::Buffer given = amd::make_buffer(params.filter, params.filter_bytes);
    amd::Buffer row =
        amd::make_buffer(static_cast<unsigned char*>(params.packed) + (uint64_t{parity} * params.filters + filter) *
                                                                          (uint64_t{params.pitch} * element_bytes(kTo)),
                         params.pitch* element_bytes(kTo));

    KG_DEVICE explicit FilterPackKernel(const FilterPackParams& from) : params(from) {}

    KG_DEVICE Lanes<float> weight(const Lanes<bool>& wanted, const Lanes<uint32_t>& index) const {
        return load_element<kFrom>(given, only_if(wanted, index * element_bytes(kFrom)));
    }

    /// The sum, in the host's order, of the taps that read stored pixel (r, s) of the two by two under this parity's
    /// positions (conv::folded_taps); those of other pixels add a zero.
    KG_DEVICE Lanes<float> folded(const Lanes<bool>& inside, const Lanes<uint32_t>& first, const Lanes<uint32_t>& r,
                                  const Lanes<uint32_t>& s) const {
        const uint32_t split_r = parity / 2 == 0 ? 1 : 2, split_s = parity % 2 == 0 ? 1 : 2;
        Lanes<float> sum = 0.0f;
        for (uint32_t i = 0; i < 3; ++i)
            for (uint32_t j = 0; j < 3; ++j) {
                const uint32_t of_r = i < split_r ? 0 : 1, of_s = j < split_s ? 0 : 1;
                sum += weight(inside & (r == of_r) & (s == of_s), first + (i * params.stride_r + j * params.stride_s));
            }
        return sum;
    }

    KG_DEVICE Lanes<float> value(const Lanes<uint32_t>& place) const {
        const Lanes<uint32_t> q = place / params.frame_pitch, of_frame = place % params.frame_pitch;
        const Lanes<uint32_t> tap = of_frame / params.tap_pitch, c = of_frame % params.tap_pitch;
        const Lanes<uint32_t> r = tap / params.taps_s, s = tap % params.taps_s;
        const Lanes<bool> inside = (q < params.taps_q) & (r < params.taps_r) & (c < params.channels);
        const Lanes<uint32_t> first = q * params.stride_q + c * params.stride_c + filter * params.stride_k;
        if (params.folded) return folded(inside, first, r, s);
        return weight(inside, first + r * params.stride_r + s * params.stride_s);
    }

    KG_DEVICE void run() const {
        const Lanes<uint32_t> word = lane_of_grid();
        Lanes<uint32_t> packed;
        if constexpr (kTo == Element::F8E4M3) {
            const Lanes<uint32_t> at = word * 4u;
            packed = amd::pack_f8e4m3(value(at), value(at + 1u), value(at + 2u), value(at + 3u));
        } else {
            packed = pack_pair<kTo>(value(word * 2u), value(word * 2u + 1u));
        }
        amd::store_4(row, only_if(word < params.pitch * element_bytes(kTo) / 4, word * 4u), packed);
    }
};

}  // namespace kinetograph::gfx950
