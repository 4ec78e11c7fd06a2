#pragma once

#include <kinetograph/kernels/conv/group_norm_params.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/elements.hpp>
#include <kinetograph/kernels/isa/amd/cross_lane.hpp>
#include <kinetograph/kernels/isa/amd/lds.hpp>

/// The three kernels of conv::GroupNormParams. Offsets count from what a workgroup begins with, so that frames may have
/// any size.
namespace kinetograph::gfx950 {

inline constexpr uint32_t kGroupWaves = conv::kGroupThreads / amd::kWaveLanes;

/// This lane's index in its workgroup.
KG_DEVICE Lanes<uint32_t> lane_of_workgroup() { return amd::lane_index() + amd::wave_index() * amd::kWaveLanes; }

/// kGroupVector channels of a pixel from `channel` on: zeros after the last, nothing stored there. Pixels of whole
/// vectors are aligned to 16 bytes.
template <Element kElement>
struct GroupChannels {
    static constexpr uint32_t kVector = conv::kGroupVector, kPer = kPerUnit<kElement>;
    static constexpr uint32_t kBytes = element_bytes(kElement);
    using Values = Lanes<float>[kVector];
    uint32_t channels;

    KG_DEVICE bool whole() const { return channels % kVector == 0; }
    KG_DEVICE Lanes<uint32_t> at(const Lanes<uint32_t>& pixel, const Lanes<uint32_t>& channel) const {
        return amd::select<uint32_t>(channel < channels, (pixel * channels + channel) * kBytes, amd::kOutOfRange);
    }
    KG_DEVICE void load(amd::Buffer from, const Lanes<uint32_t>& pixel, const Lanes<uint32_t>& channel,
                        Values& values) const {
        if (whole()) {
            KG_UNROLL for (uint32_t first = 0; first < kVector; first += kPer) {
                Lanes<float> unit[kPer];
                widen_unit<kElement>(amd::load_16(from, at(pixel, channel + first)), unit);
                KG_UNROLL for (uint32_t i = 0; i < kPer; ++i) values[first + i] = unit[i];
            }
        } else {
            KG_UNROLL for (uint32_t i = 0; i < kVector; ++i) values[i] =
                load_element<kElement>(from, at(pixel, channel + i));
        }
    }
    KG_DEVICE void store(amd::Buffer to, const Lanes<uint32_t>& pixel, const Lanes<uint32_t>& channel,
                         const Values& values) const {
        if (whole()) {
            KG_UNROLL for (uint32_t first = 0; first < kVector; first += kPer) {
                Lanes<float> unit[kPer];
                KG_UNROLL for (uint32_t i = 0; i < kPer; ++i) unit[i] = values[first + i];
                amd::store_16(to, at(pixel, channel + first), narrow_unit<kElement>(unit));
            }
        } else {
            KG_UNROLL for (uint32_t i = 0; i < kVector; ++i)
                store_element<kElement>(to, at(pixel, channel + i), values[i]);
        }
    }
};

template <Element kElement>
struct GroupMomentsKernel {
    static constexpr uint32_t kVector = conv::kGroupVector, kLanes = conv::kGroupLanes, kSlab = conv::kGroupSlab;
    static constexpr uint32_t kArrayBytes = kGroupWaves * kSlab * 4;  ///< of LDS: sums, then squares, a row a wave

    const conv::GroupNormParams& params;
    GroupChannels<kElement> of{params.channels};
    uint32_t first = amd::workgroup_index().x * params.tile;  ///< pixel
    uint32_t count = params.pixels - first < params.tile ? params.pixels - first : params.tile;
    uint32_t slab = amd::workgroup_index().y * kSlab;
    amd::Buffer input = amd::make_buffer(static_cast<const unsigned char*>(params.input) +
                                             static_cast<uint64_t>(first) * params.channels * element_bytes(kElement),
                                         count* params.channels* element_bytes(kElement));
    amd::LdsPlace lds = amd::allocate_lds<2 * kArrayBytes>();

    KG_DEVICE explicit GroupMomentsKernel(const conv::GroupNormParams& given) : params(given) {}

    KG_DEVICE void run() const {
        Lanes<float> sums[kVector], squares[kVector];
        add_pixels(sums, squares);
        const Lanes<uint32_t> lane = amd::lane_index();
        KG_UNROLL for (uint32_t i = 0; i < kVector; ++i) {
            sums[i] = sums[i] + amd::exchange<16>(sums[i]);
            squares[i] = squares[i] + amd::exchange<16>(squares[i]);
            sums[i] = sums[i] + amd::exchange<32>(sums[i]);
            squares[i] = squares[i] + amd::exchange<32>(squares[i]);
            const Lanes<uint32_t> at = (lane % kLanes + (amd::wave_index() * kSlab + i * kLanes)) * 4u;
            amd::write_lds_4(lds, at, amd::bits_as<uint32_t>(sums[i]), lane < kLanes);
            amd::write_lds_4(lds + kArrayBytes, at, amd::bits_as<uint32_t>(squares[i]), lane < kLanes);
        }
        amd::sync_workgroup();
        if (amd::wave_index() * amd::kWaveLanes < kSlab) store_moments();
    }

  private:
    /// Of differences from the tile's first pixel, those of this lane.
    KG_DEVICE void add_pixels(Lanes<float> (&sums)[kVector], Lanes<float> (&squares)[kVector]) const {
        const Lanes<uint32_t> lane = amd::lane_index(), channel = lane % kLanes * kVector + slab;
        const Lanes<uint32_t> row = lane / kLanes + amd::wave_index() * (amd::kWaveLanes / kLanes);
        Lanes<float> base[kVector], values[kVector];
        of.load(input, Lanes<uint32_t>(0u), channel, base);
        KG_UNROLL for (uint32_t i = 0; i < kVector; ++i) sums[i] = squares[i] = Lanes<float>(0.0f);
        for (uint32_t begin = 0; begin < count; begin += conv::kGroupRows) {
            const Lanes<uint32_t> pixel = row + begin;
            of.load(input, pixel, channel, values);
            KG_UNROLL for (uint32_t i = 0; i < kVector; ++i) {
                const Lanes<float> difference =
                    amd::select<float>(pixel < count, values[i] - base[i], Lanes<float>(0.0f));
                sums[i] = sums[i] + difference;
                squares[i] = amd::fma(difference, difference, squares[i]);
            }
        }
    }

    /// The lane's number is where all waves have its channel's sums.
    KG_DEVICE void store_moments() const {
        const Lanes<uint32_t> at = lane_of_workgroup(), channel = at % kLanes * kVector + at / kLanes + slab;
        Lanes<float> sum = 0.0f, squares = 0.0f;
        KG_UNROLL for (uint32_t wave = 0; wave < kGroupWaves; ++wave) {
            const Lanes<uint32_t> offset = (at + wave * kSlab) * 4u;
            sum = sum + amd::bits_as<float>(amd::read_lds_4(lds, offset));
            squares = squares + amd::bits_as<float>(amd::read_lds_4(lds + kArrayBytes, offset));
        }
        const Lanes<float> mean = sum * (1.0f / static_cast<float>(count));
        const Lanes<float> rest = amd::max(squares - sum * mean, Lanes<float>(0.0f));
        const Lanes<float> base = load_element<kElement>(input, of.at(Lanes<uint32_t>(0u), channel));
        const uint32_t row_bytes = params.channels * 4;
        const amd::Buffer moments = amd::make_buffer(
            params.moments + static_cast<uint64_t>(amd::workgroup_index().x) * 2 * params.channels, 2 * row_bytes);
        const Lanes<uint32_t> to = amd::select<uint32_t>(channel < params.channels, channel * 4u, amd::kOutOfRange);
        amd::store_4(moments, to, amd::bits_as<uint32_t>(base + mean));
        amd::store_4(moments, amd::select<uint32_t>(channel < params.channels, to + row_bytes, amd::kOutOfRange),
                     amd::bits_as<uint32_t>(rest));
    }
};

struct GroupFactorsKernel {
    const conv::GroupNormParams& params;
    uint32_t width = params.channels / params.groups, channel = amd::workgroup_index().x * width;
    amd::Buffer moments = amd::make_buffer(params.moments, params.tiles* params.channels * 8);
    amd::LdsPlace lds = amd::allocate_lds<2 * kGroupWaves * 4>();

    KG_DEVICE explicit GroupFactorsKernel(const conv::GroupNormParams& given) : params(given) {}

    KG_DEVICE void run() const {
        const float part = 1.0f / (static_cast<float>(params.pixels) * static_cast<float>(width));
        const Lanes<float> base = amd::bits_as<float>(amd::load_4(moments, Lanes<uint32_t>(channel * 4)));
        const Lanes<float> mean =
            base + sum_of(0, [&](const Lanes<float>& pixels, const Lanes<float>& of_tile, const Lanes<float>&) {
                       return pixels * (of_tile - base);
                   }) * part;
        const Lanes<float> variance =
            sum_of(1,
                   [&](const Lanes<float>& pixels, const Lanes<float>& of_tile, const Lanes<float>& squares) {
                       return squares + pixels * (of_tile - mean) * (of_tile - mean);
                   }) *
            part;
        const Lanes<float> scale = amd::reciprocal_sqrt(variance + params.epsilon);
        const amd::Buffer weights = amd::make_buffer(params.parameters, params.channels * 4);
        const amd::Buffer factors = amd::make_buffer(params.factors, params.channels * 8);
        for (uint32_t first = 0; first < width; first += conv::kGroupThreads) {
            const Lanes<uint32_t> i = lane_of_workgroup() + first, offset = (i + channel) * 4u;
            const Lanes<float> weight = amd::bits_as<float>(amd::load_4(weights, offset));
            amd::store_4(factors, amd::select<uint32_t>(i < width, offset, amd::kOutOfRange),
                         amd::bits_as<uint32_t>(mean));
            amd::store_4(factors, amd::select<uint32_t>(i < width, offset + params.channels * 4, amd::kOutOfRange),
                         amd::bits_as<uint32_t>(scale * weight));
        }
    }

  private:
    /// The sum over tiles and the group's channels of term(pixels, mean, squares), in all lanes; `which` of two.
    template <class Term>
    KG_DEVICE Lanes<float> sum_of(uint32_t which, const Term& term) const {
        const uint32_t all = params.tiles * width, row_bytes = params.channels * 4;
        Lanes<float> sum = 0.0f;
        for (uint32_t first = 0; first < all; first += conv::kGroupThreads) {
            const Lanes<uint32_t> i = lane_of_workgroup() + first, tile = i / width;
            const Lanes<uint32_t> offset =
                amd::select<uint32_t>(i < all, tile * (2 * row_bytes) + (i % width + channel) * 4u, amd::kOutOfRange);
            const Lanes<uint32_t> pixels = amd::min(params.pixels - tile * params.tile, Lanes<uint32_t>(params.tile));
            const Lanes<float> of_tile = amd::bits_as<float>(amd::load_4(moments, offset));
            const Lanes<float> squares = amd::bits_as<float>(
                amd::load_4(moments, amd::select<uint32_t>(i < all, offset + row_bytes, amd::kOutOfRange)));
            sum = sum + amd::select<float>(i < all, term(Lanes<float>(pixels), of_tile, squares), Lanes<float>(0.0f));
        }
        sum = amd::sum_lanes(sum);
        const amd::LdsPlace place = lds + which * kGroupWaves * 4;
        amd::write_lds_4(place, Lanes<uint32_t>(amd::wave_index() * 4), amd::bits_as<uint32_t>(sum),
                         amd::lane_index() < 1u);
        amd::sync_workgroup();
        Lanes<float> total = 0.0f;
        KG_UNROLL for (uint32_t wave = 0; wave < kGroupWaves; ++wave) total =
            total + amd::bits_as<float>(amd::read_lds_4(place, Lanes<uint32_t>(wave * 4)));
        return total;
    }
};

/// A tile begins with an even pixel, so that the buffers are aligned to 4 bytes.
template <Element kElement>
KG_DEVICE void group_norm(const conv::GroupNormParams& params) {
    constexpr uint32_t kVector = conv::kGroupVector, kLanes = conv::kGroupLanes;
    const GroupChannels<kElement> of{params.channels};
    const uint32_t first = amd::workgroup_index().x * params.tile,
                   row_bytes = params.channels * element_bytes(kElement);
    const uint32_t count = params.pixels - first < params.tile ? params.pixels - first : params.tile;
    const uint64_t skipped = static_cast<uint64_t>(first) * row_bytes;
    const amd::Buffer input =
        amd::make_buffer(static_cast<const unsigned char*>(params.input) + skipped, count * row_bytes);
    const amd::Buffer output =
        amd::make_buffer(static_cast<unsigned char*>(params.output) + skipped, count * row_bytes);
    const amd::Buffer factors = amd::make_buffer(params.factors, params.channels * 8);
    const amd::Buffer biases = amd::make_buffer(params.parameters + params.channels, params.channels * 4);
    const Lanes<uint32_t> lane = amd::lane_index();
    const Lanes<uint32_t> channel = lane % kLanes * kVector + amd::workgroup_index().y * conv::kGroupSlab;
    const Lanes<uint32_t> row = lane / kLanes + amd::wave_index() * (amd::kWaveLanes / kLanes);
    constexpr uint32_t kRows = conv::kGroupRows;
    Lanes<float> mean[kVector], scale[kVector], bias[kVector], values[kVector];
    KG_UNROLL for (uint32_t i = 0; i < kVector; ++i) {
        const Lanes<uint32_t> offset = (channel + i) * 4u;  // beyond the last channel: other channels' values, unused
        mean[i] = amd::bits_as<float>(amd::load_4(factors, offset));
        scale[i] = amd::bits_as<float>(amd::load_4(factors, offset + params.channels * 4));
        bias[i] = amd::bits_as<float>(amd::load_4(biases, offset));
    }
    for (uint32_t begin = amd::workgroup_index().z * kRows; begin < count; begin += conv::kGroupParts * kRows) {
        const Lanes<uint32_t> pixel = row + begin;  // beyond the tile's last: beyond the buffers
        of.load(input, pixel, channel, values);
        KG_UNROLL for (uint32_t i = 0; i < kVector; ++i) {
            values[i] = amd::fma(values[i] - mean[i], scale[i], bias[i]);
            if (params.silu != 0) values[i] = amd::silu(values[i]);
        }
        of.store(output, pixel, channel, values);
    }
}

}  // namespace kinetograph::gfx950
