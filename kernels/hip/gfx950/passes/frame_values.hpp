#pragma once

#include <kinetograph/kernels/hip/gfx950/passes/frame_moves.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/frame_values_params.hpp>

namespace kinetograph::gfx950 {

KG_DEVICE Lanes<float> load_latent(amd::Buffer from, Element type, const Lanes<uint32_t>& offset) {
    if (type == Element::F16) return load_element<Element::F16>(from, offset);
    if (type == Element::BF16) return load_element<Element::BF16>(from, offset);
    return load_element<Element::F32>(from, offset);
}

/// A lane makes kPer channels of a pixel, neighbouring lanes neighbouring pixels: the planes are read in whole lines.
template <Element kElement, uint32_t kPer>
KG_DEVICE void unpack_latent(const UnpackLatentParams& params) {
    constexpr uint32_t kBytes = element_bytes(kElement);
    const uint32_t frame = amd::workgroup_index().y, elements = params.pixels * params.channels;
    const uint32_t latent_bytes = params.latent == Element::F32 ? 4 : 2;
    const amd::Buffer from = amd::make_buffer(params.frames.input[frame], elements * latent_bytes);
    const amd::Buffer to = amd::make_buffer(params.frames.output[frame], elements * kBytes);
    const amd::Buffer maps = amd::make_buffer(params.map, (params.channels + 1) * params.channels * 4);
    const Lanes<uint32_t> lane = lane_of_grid(), pixel = lane % params.pixels, first = lane / params.pixels * kPer;
    const auto latent = [&](const Lanes<uint32_t>& c) {
        return load_latent(from, params.latent,
                           only_if(c < params.channels, (c * params.pixels + pixel) * latent_bytes));
    };
    const auto map = [&](uint32_t i, uint32_t e) {
        return widen<Element::F32>(amd::load_4(maps, (first + (i * params.channels + e)) * 4u));
    };
    Lanes<float> values[kPer];
    KG_UNROLL for (uint32_t e = 0; e < kPer; ++e) values[e] =
        params.map == nullptr ? latent(first + e) : map(params.channels, e);
    for (uint32_t i = 0; params.map != nullptr && i < params.channels; ++i) {
        const Lanes<float> value = latent(Lanes<uint32_t>(i));
        KG_UNROLL for (uint32_t e = 0; e < kPer; ++e) values[e] = amd::fma(value, map(i, e), values[e]);
    }
    if (params.soft_limit != 0) {
        KG_UNROLL for (uint32_t e = 0; e < kPer; ++e) values[e] =
            amd::tanh(values[e] * (1 / params.soft_limit)) * params.soft_limit;
    }
    const Lanes<uint32_t> offset = only_if(first < params.channels, (pixel * params.channels + first) * kBytes);
    if constexpr (kPer == 1) {
        store_element<kElement>(to, offset, values[0]);
    } else {
        amd::store_16(to, offset, narrow_unit<kElement>(values));
    }
}

/// Four channels from `at` on, `fallback` where there are no values.
KG_DEVICE void load_channels(const float* values, uint32_t channels, const Lanes<uint32_t>& at, float fallback,
                             Lanes<float> (&into)[4]) {
    KG_UNROLL for (uint32_t e = 0; e < 4; ++e) into[e] = fallback;
    if (values != nullptr)
        widen_unit<Element::F32>(amd::load_16(amd::make_buffer(values, channels * 4), at * 4u), into);
}

/// Faults that tests build into the join of parts to check that they are detected.
enum class JoinFault : uint8_t {
    None,
    DropsLastPart,
    ScalesOfNeighbour,   ///< a unit's second four channels take the factors of its first four
    SourceOfFirstFrame,  ///< every frame adds the first frame's source
};

/// A lane makes one unit of the output. The parts are added in order, so that the result is always the same.
template <Element kElement, JoinFault kFault = JoinFault::None>
KG_DEVICE void join_sums(const JoinSumsParams& params) {
    constexpr uint32_t kPer = kPerUnit<kElement>;
    const uint32_t frame = amd::workgroup_index().y;
    const Lanes<uint32_t> first = lane_of_grid() * kPer, channel = first % params.channels;
    const char* part = static_cast<const char*>(params.frames.input[frame]);
    Lanes<float> values[kPer / 4][4];
    KG_UNROLL for (uint32_t i = 0; i < kPer; ++i) values[i / 4][i % 4] = 0.0f;
    const uint32_t parts = kFault == JoinFault::DropsLastPart ? params.parts - 1 : params.parts;
    for (uint32_t index = 0; index < parts; ++index, part += params.part_bytes) {
        const amd::Buffer sums = amd::make_buffer(part, params.elements * 4);
        KG_UNROLL for (uint32_t i = 0; i < kPer / 4; ++i) {
            Lanes<float> further[4];
            widen_unit<Element::F32>(amd::load_16(sums, (first + 4 * i) * 4u), further);
            KG_UNROLL for (uint32_t e = 0; e < 4; ++e) values[i][e] = values[i][e] + further[e];
        }
    }
    Lanes<float> source[kPer], results[kPer];
    KG_UNROLL for (uint32_t e = 0; e < kPer; ++e) source[e] = 0.0f;
    if (params.adds != 0) {
        const void* const source_frame = params.source[kFault == JoinFault::SourceOfFirstFrame ? 0 : frame];
        const amd::Buffer from = amd::make_buffer(source_frame, params.elements * element_bytes(kElement));
        widen_unit<kElement>(amd::load_16(from, lane_of_grid() * 16u), source);
    }
    KG_UNROLL for (uint32_t i = 0; i < kPer / 4; ++i) {
        Lanes<float> scales[4], bias[4];
        const uint32_t further = kFault == JoinFault::ScalesOfNeighbour ? 0 : 4 * i;
        load_channels(params.scales, params.channels, channel + further, 1.0f, scales);
        load_channels(params.bias, params.channels, channel + 4 * i, 0.0f, bias);
        KG_UNROLL for (uint32_t e = 0; e < 4; ++e) {
            Lanes<float> value = values[i][e] * scales[e] + bias[e];
            if (params.silu != 0) value = amd::silu(value);
            value = amd::fma(source[4 * i + e], Lanes<float>(params.beta), value);
            results[4 * i + e] = params.relu != 0 ? amd::leaky_relu(value, params.negative_slope) : value;
        }
    }
    const amd::Buffer to = amd::make_buffer(params.frames.output[frame], params.elements * element_bytes(kElement));
    amd::store_16(to, lane_of_grid() * 16u, narrow_unit<kElement>(results));
}

/// A NaN fails both comparisons and stays.
KG_DEVICE Lanes<float> limited(const Lanes<float>& value, float limit) {
    const Lanes<float> raised = amd::select<float>(value < -limit, -limit, value);
    return amd::select<float>(raised > limit, limit, raised);
}

/// `residue` is value - value, or a sum of such: 0, and NaN where a value is not finite.
template <class Params>
KG_DEVICE void flag_not_finite(const Params& params, const Lanes<float>& residue) {
    const amd::Buffer flag = amd::make_buffer(params.not_finite, params.not_finite != nullptr ? 4 : 0);
    amd::store_4(flag, only_if(residue != 0.0f, Lanes<uint32_t>(0u)), Lanes<uint32_t>(1u));
}

/// Four elements per lane if a frame is a multiple of them, else one.
template <Element kElement, uint32_t kPer>
KG_DEVICE void store_float(const StoreFloatParams& params) {
    const uint32_t frame = amd::workgroup_index().y, elements = params.pixels * params.channels;
    const bool halves = params.output == Element::F16;
    const amd::Buffer from = amd::make_buffer(params.frames.input[frame], elements * element_bytes(kElement));
    const amd::Buffer to = amd::make_buffer(params.frames.output[frame], elements * (halves ? 2 : 4));
    const Lanes<uint32_t> lane = lane_of_grid();
    if constexpr (kPer == 1) {
        const Lanes<float> value =
            load_element<kElement>(from, only_if(lane < elements, lane * element_bytes(kElement)));
        flag_not_finite(params, value - value);
        if (halves)
            store_element<Element::F16>(to, lane * 2u, limited(value, params.limit));
        else
            store_element<Element::F32>(to, lane * 4u, limited(value, params.limit));
    } else {
        Lanes<float> values[4];
        if constexpr (kElement == Element::F32) {
            widen_unit<kElement>(amd::load_16(from, lane * 16u), values);
        } else {
            const Packed8 pairs = amd::load_8(from, lane * 8u);
            KG_UNROLL for (uint32_t i = 0; i < 2; ++i) {
                values[2 * i] = widen<kElement>(pairs[i]);
                values[2 * i + 1] = widen<kElement>(pairs[i] >> 16u);
            }
        }
        Lanes<float> residue = 0.0f;
        KG_UNROLL for (uint32_t e = 0; e < 4; ++e) {
            residue = residue + (values[e] - values[e]);
            values[e] = limited(values[e], params.limit);
        }
        flag_not_finite(params, residue);
        if (halves) {
            Packed8 packed;
            KG_UNROLL for (uint32_t i = 0; i < 2; ++i) packed[i] = amd::pack_f16(values[2 * i], values[2 * i + 1]);
            amd::store_8(to, lane * 8u, packed);
        } else {
            amd::store_16(to, lane * 16u, narrow_unit<Element::F32>(values));
        }
    }
}

/// Red, green and blue of the lane's pixel, flagged if one of them is not finite.
template <Element kElement>
KG_DEVICE void load_pixel(const StorePictureParams& params, Lanes<float> (&rgb)[3]) {
    const uint32_t bytes = params.pixels * 3 * element_bytes(kElement);
    const amd::Buffer from = amd::make_buffer(params.frames.input[amd::workgroup_index().y], bytes);
    Lanes<float> residue = 0.0f;
    KG_UNROLL for (uint32_t c = 0; c < 3; ++c) {
        rgb[c] = load_element<kElement>(from, (lane_of_grid() * 3u + c) * element_bytes(kElement));
        residue = residue + (rgb[c] - rgb[c]);
    }
    flag_not_finite(params, residue);
}

/// [-1, 1] to 0..255, to nearest, halves up; NaN is 0. Bit for bit nn::to_unorm8.
KG_DEVICE Lanes<uint32_t> unorm8(const Lanes<float>& value) {
    const Lanes<float> scaled = (value + 1.0f) * 127.5f;
    const Lanes<float> low = amd::select<float>(scaled > 0.0f, scaled, -0.5f);
    return Lanes<uint32_t>(amd::min<float>(low, 255.0f) + 0.5f);
}

template <Element kElement>
KG_DEVICE void store_rgba8(const StorePictureParams& params) {
    Lanes<float> rgb[3];
    load_pixel<kElement>(params, rgb);
    const amd::Buffer to = amd::make_buffer(params.frames.output[amd::workgroup_index().y], params.pixels * 4);
    amd::store_4(to, lane_of_grid() * 4u, unorm8(rgb[0]) | unorm8(rgb[1]) << 8u | unorm8(rgb[2]) << 16u | 0xff00'0000u);
}

}  // namespace kinetograph::gfx950
