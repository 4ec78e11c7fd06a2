#pragma once

#include <kinetograph/kernels/cuda/sm80/conv_faults.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_tile.hpp>
#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/convert.hpp>
#include <kinetograph/kernels/isa/global_memory.hpp>
#include <kinetograph/kernels/isa/math.hpp>
#include <kinetograph/kernels/isa/shared_memory.hpp>
#include <kinetograph/kernels/isa/shuffle.hpp>

namespace kinetograph::sm80 {

/// Two neighbouring channels of a frame of kValue; the second may be missing.
template <isa::Value kValue>
struct ChannelPair {
    static constexpr uint32_t kBytes = isa::value_bytes(kValue);
    using Both = isa::Words<kValue == isa::Value::Float32 ? 2 : 1>;

    /// `whole`: both exist and the address is aligned to the pair.
    KG_DEVICE static void load(float (&values)[2], const void* frame, size_t element, bool whole, bool second) {
        const uint8_t* address = static_cast<const uint8_t*>(frame) + element * kBytes;
        if (whole) {
            const Both words = isa::load_global<Both>(address);
            if constexpr (kValue == isa::Value::Float32) {
                values[0] = isa::float_of(words.at[0]);
                values[1] = isa::float_of(words.at[1]);
            } else {
                isa::unpack_word<kValue>(words.at[0], values);
            }
            return;
        }
        if constexpr (kValue == isa::Value::Float32) {
            values[0] = isa::load_global<float>(address);
            values[1] = second ? isa::load_global<float>(address + kBytes) : 0.0f;
        } else {
            const uint32_t low = isa::load_global<uint16_t>(address);
            const uint32_t high = second ? isa::load_global<uint16_t>(address + kBytes) : 0u;
            isa::unpack_word<kValue>(low | high << 16, values);
        }
    }

    /// What storing keeps of the values.
    KG_DEVICE static void round(float (&values)[2]) {
        if constexpr (kValue != isa::Value::Float32) isa::unpack_word<kValue>(isa::pack_word<kValue>(values), values);
    }

    KG_DEVICE static void store(const float (&values)[2], void* frame, size_t element, bool whole, bool second) {
        uint8_t* address = static_cast<uint8_t*>(frame) + element * kBytes;
        if constexpr (kValue == isa::Value::Float32) {
            if (whole) return isa::store_global(address, Both{{isa::bits_of(values[0]), isa::bits_of(values[1])}});
            isa::store_global(address, values[0]);
            if (second) isa::store_global(address + kBytes, values[1]);
        } else {
            const uint32_t word = isa::pack_word<kValue>(values);
            if (whole) return isa::store_global(address, word);
            isa::store_global(address, static_cast<uint16_t>(word));
            if (second) isa::store_global(address + kBytes, static_cast<uint16_t>(word >> 16));
        }
    }
};

/// From a warp's accumulators to memory, in fp32 up to the one rounding.
template <ConvConfig kConfig, ConvFault kFault>
class ConvEpilogueStep {
  public:
    static constexpr ConvConfig c = kConfig;
    static constexpr uint32_t kTilesM = c.bm / c.warps_m / 16, kTilesN = c.bn / c.warps_n / 8;
    using Accumulators = float[kTilesM][kTilesN][4];

    KG_DEVICE ConvEpilogueStep(const ConvParams& params, ConvSmem<kConfig>& smem, const ConvTile& tile)
        : params_(params),
          smem_(smem),
          tile_(tile),
          warp_row_(isa::warp_index() / c.warps_n * (c.bm / c.warps_m)),
          warp_column_(isa::warp_index() % c.warps_n * (c.bn / c.warps_n)),
          even_(params.c_out % 2 == 0) {}

    KG_DEVICE void run(Accumulators& sums) {
        constexpr isa::Value kNarrow = c.element == isa::Element::BFloat16 ? isa::Value::BFloat16 : isa::Value::Float16;
        if ((params_.flags & kConvFloat32) != 0) {
            finish<isa::Value::Float32>(sums);
        } else {
            finish<kNarrow>(sums);
        }
    }

  private:
    KG_DEVICE bool has(uint32_t flag) const { return (params_.flags & flag) != 0; }
    /// Row of the tile that holds elements 2 * half and 2 * half + 1 of the accumulators of product i.
    KG_DEVICE uint32_t tile_row(uint32_t i, uint32_t half) const {
        return warp_row_ + 16 * i + 8 * half + isa::lane_index() / 4;
    }
    /// First of the two channels of product j.
    KG_DEVICE uint32_t channel(uint32_t j) const { return tile_.n + warp_column_ + 8 * j + isa::lane_index() % 4 * 2; }

    template <isa::Value kValue>
    KG_DEVICE void finish(Accumulators& sums) {
        KG_UNROLL
        for (uint32_t i = 0; i < kTilesM; ++i) {
            KG_UNROLL
            for (uint32_t half = 0; half < 2; ++half) finish_row<kValue>(sums[i], i, half);
        }
        if (!has(kConvNorm)) return;
        if constexpr (kFault != ConvFault::NoNormBarrier) isa::sync_cta();
        KG_UNROLL
        for (uint32_t i = 0; i < kTilesM; ++i) {
            KG_UNROLL
            for (uint32_t half = 0; half < 2; ++half) norm_row<kValue>(sums[i], i, half);
        }
    }

    /// One pixel's channels of this thread; leaves the rounded values in `sums` for the norm.
    template <isa::Value kValue>
    KG_DEVICE void finish_row(float (&sums)[kTilesN][4], uint32_t i, uint32_t half) {
        const uint32_t m = tile_.m + tile_row(i, half);
        const bool stored = m < params_.pixels;
        const size_t pixel = stored ? static_cast<size_t>(output_pixel(params_, tile_, m)) * params_.c_out : 0;
        float squares = 0;
        KG_UNROLL
        for (uint32_t j = 0; j < kTilesN; ++j) {
            const uint32_t first = channel(j);
            if (!stored || first >= params_.c_out) continue;
            float values[2] = {sums[j][2 * half], sums[j][2 * half + 1]};
            finish_pair<kValue>(values, pixel + first, first);
            sums[j][2 * half] = values[0];
            sums[j][2 * half + 1] = values[1];
            squares += values[0] * values[0] + values[1] * values[1];
        }
        if (!has(kConvNorm)) return;
        squares += isa::shuffle_xor(squares, 1);
        squares += isa::shuffle_xor(squares, 2);
        if (isa::lane_index() % 4 == 0) {
            isa::store_shared(&smem_.squares[isa::warp_index() % c.warps_n][tile_row(i, half)], squares);
        }
    }

    template <isa::Value kValue>
    KG_DEVICE void finish_pair(float (&values)[2], size_t element, uint32_t first) {
        const bool second = first + 1 < params_.c_out;
        if (has(kConvAddend)) {
            float addend[2];
            ChannelPair<isa::Value::Float32>::load(addend, params_.addend[tile_.frame], element, even_, second);
            values[0] += addend[0];
            values[1] += addend[1];
        }
        if (has(kConvBias)) {
            values[0] += isa::load_global<float>(params_.bias + first);
            if (second) values[1] += isa::load_global<float>(params_.bias + first + 1);
        }
        if (has(kConvSilu)) {
            values[0] = isa::silu(values[0]);
            values[1] = isa::silu(values[1]);
        }
        if (has(kConvResidual)) {
            float residual[2];
            ChannelPair<kValue>::load(residual, params_.residual[tile_.frame], element, even_, second);
            values[0] += params_.beta * residual[0];
            values[1] += params_.beta * residual[1];
        }
        if (!second) values[1] = 0;
        ChannelPair<kValue>::round(values);
        if (has(kConvOutput)) ChannelPair<kValue>::store(values, params_.output[tile_.frame], element, even_, second);
    }

    template <isa::Value kValue>
    KG_DEVICE void norm_row(const float (&sums)[kTilesN][4], uint32_t i, uint32_t half) {
        const uint32_t m = tile_.m + tile_row(i, half);
        if (m >= params_.pixels) return;
        float squares = 0;
        KG_UNROLL
        for (uint32_t column = 0; column < c.warps_n; ++column) {
            squares += isa::load_shared(&smem_.squares[column][tile_row(i, half)]);
        }
        const float length = isa::square_root(squares);
        const float scale = params_.sqrt_c_out / (length > 1e-12f ? length : 1e-12f);
        const size_t pixel = static_cast<size_t>(output_pixel(params_, tile_, m)) * params_.c_out;
        KG_UNROLL
        for (uint32_t j = 0; j < kTilesN; ++j) {
            const uint32_t first = channel(j);
            if (first >= params_.c_out) continue;
            const bool second = first + 1 < params_.c_out;
            float values[2] = {sums[j][2 * half] * scale * isa::load_global<float>(params_.gamma + first), 0};
            if (second) {
                values[1] = sums[j][2 * half + 1] * scale * isa::load_global<float>(params_.gamma + first + 1);
            }
            if (has(kConvNormSilu)) {
                values[0] = isa::silu(values[0]);
                values[1] = isa::silu(values[1]);
            }
            ChannelPair<kValue>::store(values, params_.normed[tile_.frame], pixel + first, even_, second);
        }
    }

    const ConvParams& params_;
    ConvSmem<kConfig>& smem_;
    const ConvTile& tile_;
    uint32_t warp_row_, warp_column_;  ///< first row and column of the warp in the tile
    bool even_;                        ///< pairs of channels are aligned and whole
};

}  // namespace kinetograph::sm80
