#pragma once

#include <kinetograph/kernels/hip/gfx950/passes/elements.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/rms_norm_config.hpp>
#include <kinetograph/kernels/isa/amd/cross_lane.hpp>

namespace kinetograph::gfx950 {

/// kUnitBytes 16: a lane reads whole units, and rows are a multiple of 16 bytes. Otherwise one element at a time. A
/// lane holds kUnits of a pixel.
template <Element kElement, uint32_t kUnitBytes, uint32_t kUnits>
struct RmsNormKernel {
    static constexpr uint32_t kPer = kUnitBytes / element_bytes(kElement);  ///< elements of a unit

    const RmsNormParams& params;
    uint32_t row_bytes = params.channels * element_bytes(kElement);
    Lanes<uint32_t> sub = amd::lane_index() % params.lanes;  ///< of the lanes that share a pixel
    amd::Buffer input, output, sum;
    Lanes<float> gamma[kUnits][kPer];

    KG_DEVICE explicit RmsNormKernel(const RmsNormParams& given) : params(given) {
        const uint32_t frame = amd::workgroup_index().y;
        const uint32_t bytes = params.pixels * row_bytes;
        input = amd::make_buffer(params.frames.input[frame], bytes);
        output = amd::make_buffer(params.frames.output[frame], bytes);
        sum = amd::make_buffer(params.sum, params.sum != nullptr ? bytes : 0);
        const amd::Buffer factors = amd::make_buffer(params.gamma, params.channels * 4);
        KG_UNROLL for (uint32_t i = 0; i < kUnits; ++i) {
            KG_UNROLL for (uint32_t e = 0; e < kPer; e += kPer < 4 ? 1 : 4) load_gamma(factors, i, e);
        }
    }

    KG_DEVICE void load_gamma(amd::Buffer factors, uint32_t i, uint32_t e) {
        const Lanes<uint32_t> offset = ((sub + i * params.lanes) * kPer + e) * 4u;
        if constexpr (kPer < 4) {
            gamma[i][e] = amd::bits_as<float>(amd::load_4(factors, offset));
        } else {
            const Packed16 four = amd::load_16(factors, offset);
            KG_UNROLL for (uint32_t j = 0; j < 4; ++j) gamma[i][e + j] = amd::bits_as<float>(Lanes<uint32_t>(four[j]));
        }
    }

    /// Offset of unit `i` of the lane's pixel in the frame; out of range for lanes past the row's or the frame's end.
    /// The end of the row differs from pixel to pixel: masks that do not would stay in two scalar registers a unit.
    KG_DEVICE Lanes<uint32_t> unit_offset(const Lanes<uint32_t>& pixel, uint32_t i) const {
        const Lanes<uint32_t> row = pixel * row_bytes, offset = row + (sub + i * params.lanes) * kUnitBytes;
        return amd::select<uint32_t>(offset < row + row_bytes, offset, amd::kOutOfRange);
    }

    KG_DEVICE static void load(amd::Buffer from, const Lanes<uint32_t>& offset, Lanes<float> (&values)[kPer]) {
        if constexpr (kUnitBytes == 16) {
            widen_unit<kElement>(amd::load_16(from, offset), values);
        } else {
            values[0] = load_element<kElement>(from, offset);
        }
    }
    KG_DEVICE static void store(amd::Buffer to, const Lanes<uint32_t>& offset, const Lanes<float> (&values)[kPer]) {
        if constexpr (kUnitBytes == 16) {
            amd::store_16(to, offset, narrow_unit<kElement>(values));
        } else {
            store_element<kElement>(to, offset, values[0]);
        }
    }
    /// Adds values to the frame of sums; values become the rounded sums.
    KG_DEVICE void add(const Lanes<uint32_t>& offset, Lanes<float> (&values)[kPer]) const {
        Lanes<float> before[kPer];
        load(sum, offset, before);
        KG_UNROLL for (uint32_t e = 0; e < kPer; ++e) values[e] =
            widen<kElement>(narrow<kElement>(values[e] + before[e]));
        store(sum, offset, values);
    }

    /// Sum over the lanes that share a pixel, a power of two.
    KG_DEVICE Lanes<float> sum_pixel(const Lanes<float>& of_lane) const {
        Lanes<float> value = of_lane;
        if (params.lanes > 1) value = value + amd::exchange<1>(value);
        if (params.lanes > 2) value = value + amd::exchange<2>(value);
        if (params.lanes > 4) value = value + amd::exchange<4>(value);
        if (params.lanes > 8) value = value + amd::exchange<8>(value);
        if (params.lanes > 16) value = value + amd::exchange<16>(value);
        if (params.lanes > 32) value = value + amd::exchange<32>(value);
        return value;
    }

    /// Processes as many pixels as a wave takes at once.
    KG_DEVICE void norm(const Lanes<uint32_t>& pixel) const {
        Lanes<float> values[kUnits][kPer];
        Lanes<float> squares = 0.0f;
        KG_UNROLL for (uint32_t i = 0; i < kUnits; ++i) { load(input, unit_offset(pixel, i), values[i]); }
        if (params.sum != nullptr) {
            KG_UNROLL for (uint32_t i = 0; i < kUnits; ++i) add(unit_offset(pixel, i), values[i]);
        }
        KG_UNROLL for (uint32_t i = 0; i < kUnits; ++i) {
            KG_UNROLL for (uint32_t e = 0; e < kPer; ++e) squares = amd::fma(values[i][e], values[i][e], squares);
        }
        const Lanes<float> inverse_length = amd::reciprocal_sqrt(sum_pixel(squares));
        const Lanes<float> factor = amd::min(inverse_length, Lanes<float>(1e12f)) * params.root;
        KG_UNROLL for (uint32_t i = 0; i < kUnits; ++i) {
            KG_UNROLL for (uint32_t e = 0; e < kPer; ++e) values[i][e] = values[i][e] * factor * gamma[i][e];
        }
        if (params.silu != 0) {
            KG_UNROLL for (uint32_t i = 0; i < kUnits; ++i) {
                KG_UNROLL for (uint32_t e = 0; e < kPer; ++e) values[i][e] = amd::silu(values[i][e]);
            }
        }
        KG_UNROLL for (uint32_t i = 0; i < kUnits; ++i) store(output, unit_offset(pixel, i), values[i]);
    }

    KG_DEVICE void run() const {
        const uint32_t at_once = amd::kWaveLanes / params.lanes;
        const uint32_t first =
            (amd::workgroup_index().x * kRmsNormWaves + amd::wave_index()) * kRmsNormRounds * at_once;
        for (uint32_t round = 0; round < kRmsNormRounds; ++round) {
            if (first + round * at_once >= params.pixels) return;
            norm(amd::lane_index() / params.lanes + (first + round * at_once));
        }
    }
};

template <Element kElement>
KG_DEVICE void rms_norm_units(const RmsNormParams& params) {
    if (params.units_per_lane == 1) return RmsNormKernel<kElement, 16, 1>(params).run();
    if (params.units_per_lane == 2) return RmsNormKernel<kElement, 16, 2>(params).run();
    if (params.units_per_lane == 3) return RmsNormKernel<kElement, 16, 3>(params).run();
    RmsNormKernel<kElement, 16, 4>(params).run();
}

/// units_per_lane is 1, 4 or 16; a row may end earlier.
template <Element kElement>
KG_DEVICE void rms_norm_elements(const RmsNormParams& params) {
    constexpr uint32_t kBytes = element_bytes(kElement);
    if (params.units_per_lane == 1) return RmsNormKernel<kElement, kBytes, 1>(params).run();
    if (params.units_per_lane == 4) return RmsNormKernel<kElement, kBytes, 4>(params).run();
    RmsNormKernel<kElement, kBytes, 16>(params).run();
}

}  // namespace kinetograph::gfx950
