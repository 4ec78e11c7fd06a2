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

/// Four neighbouring channels of a frame of kValue.
template <Element kValue>
struct ChannelQuad {
    static constexpr uint32_t kBytes = element_bytes(kValue);
    using Words = isa::Words<kBytes>;  ///< all four, moved as one

    /// `whole`: every pixel's channels are whole quads, so addresses are aligned to four; otherwise the first `count`
    /// exist.
    KG_DEVICE static void load(float (&values)[4], const void* frame, size_t element, bool whole, uint32_t count) {
        const uint8_t* address = static_cast<const uint8_t*>(frame) + element * kBytes;
        if (whole) return unpack(isa::load_global<Words>(address), values);
        KG_UNROLL
        for (uint32_t j = 0; j < 4; ++j) values[j] = j < count ? load_one(address + j * kBytes) : 0.0f;
    }

    KG_DEVICE static void store(const float (&values)[4], void* frame, size_t element, bool whole, uint32_t count) {
        uint8_t* address = static_cast<uint8_t*>(frame) + element * kBytes;
        if (whole) return isa::store_global(address, pack(values));
        KG_UNROLL
        for (uint32_t j = 0; j < 4; ++j) {
            if (j < count) store_one(values[j], address + j * kBytes);
        }
    }

    /// Rounds the values as storing them would.
    KG_DEVICE static void round(float (&values)[4]) { unpack(pack(values), values); }

  private:
    KG_DEVICE static Words pack(const float (&values)[4]) {
        if constexpr (kValue == Element::F32) {
            return {
                {isa::bits_of(values[0]), isa::bits_of(values[1]), isa::bits_of(values[2]), isa::bits_of(values[3])}};
        } else {
            return {{isa::pack_word<kValue>(values), isa::pack_word<kValue>(values + 2)}};
        }
    }
    KG_DEVICE static void unpack(const Words& words, float (&values)[4]) {
        if constexpr (kValue == Element::F32) {
            KG_UNROLL
            for (uint32_t j = 0; j < 4; ++j) values[j] = isa::float_of(words.at[j]);
        } else {
            isa::unpack_word<kValue>(words.at[0], values);
            isa::unpack_word<kValue>(words.at[1], values + 2);
        }
    }
    KG_DEVICE static float load_one(const uint8_t* address) {
        if constexpr (kValue == Element::F32) {
            return isa::load_global<float>(address);
        } else {
            float both[2];
            isa::unpack_word<kValue>(isa::load_global<uint16_t>(address), both);
            return both[0];
        }
    }
    KG_DEVICE static void store_one(float value, uint8_t* address) {
        if constexpr (kValue == Element::F32) {
            isa::store_global(address, value);
        } else {
            const float both[2] = {value, 0};
            isa::store_global(address, static_cast<uint16_t>(isa::pack_word<kValue>(both)));
        }
    }
};

/// From a warp's accumulators to memory, in fp32 until the one rounding. The tile passes through the shared memory of
/// the ring, so that a few neighbouring lanes hold a whole pixel: they access 64 bytes or more at once, and the norm
/// needs only these lanes.
template <ConvConfig kConfig, ConvFault kFault>
class ConvEpilogueStep {
  public:
    static constexpr ConvConfig c = kConfig;
    static constexpr uint32_t kTilesM = c.bm / c.warps_m / 16, kTilesN = c.bn / c.warps_n / 8;
    using Accumulators = float[kTilesM][kTilesN][4];

    KG_DEVICE ConvEpilogueStep(const ConvParams& params, ConvSmem<kConfig>& smem, const ConvTile& tile)
        : params_(params), smem_(smem), tile_(tile), whole_(params.c_out % 4 == 0) {}

    KG_DEVICE void run(const Accumulators& sums) {
        if constexpr (kFault != ConvFault::StagesWhileOthersMultiply) isa::sync_cta();
        stage(sums);
        if constexpr (kFault != ConvFault::NoStagingBarrier) isa::sync_cta();
        constexpr Element kNarrow = c.element == Element::BF16 ? Element::BF16 : Element::F16;
        if ((params_.flags & kConvFloat32) != 0) {
            finish<Element::F32>();
        } else {
            finish<kNarrow>();
        }
    }

  private:
    /// Lanes that share a pixel, each with every kLanes-th quad of its channels.
    static constexpr uint32_t kLanes = lanes_of_a_pixel(c), kQuads = c.bn / 4 / kLanes, kRows = threads(c) / kLanes;
    using Pixel = float[kQuads][4];

    KG_DEVICE bool has(uint32_t flag) const { return (params_.flags & flag) != 0; }
    KG_DEVICE static uint32_t quad(uint32_t j) { return isa::thread_index() % kLanes + j * kLanes; }
    /// First channel of this lane's j-th quad.
    KG_DEVICE uint32_t channel(uint32_t j) const { return tile_.n + 4 * quad(j); }
    /// Number of channels of that quad that exist: 0 to 4.
    KG_DEVICE uint32_t count(uint32_t j) const {
        return channel(j) >= params_.c_out ? 0 : params_.c_out - channel(j) < 4 ? params_.c_out - channel(j) : 4;
    }

    /// Rows are tile_pitch apart: the eight rows and four pairs of columns of a store use every bank equally often.
    KG_DEVICE void stage(const Accumulators& sums) {
        const uint32_t row = isa::warp_index() / c.warps_n * (c.bm / c.warps_m) + isa::lane_index() / 4;
        const uint32_t column = isa::warp_index() % c.warps_n * (c.bn / c.warps_n) + isa::lane_index() % 4 * 2;
        const uint32_t first = isa::shared_address(smem_.tile) + (row * tile_pitch(c) + column) * 4;
        KG_UNROLL
        for (uint32_t i = 0; i < kTilesM; ++i) {
            KG_UNROLL
            for (uint32_t half = 0; half < 2; ++half) {
                KG_UNROLL
                for (uint32_t j = 0; j < kTilesN; ++j) {
                    const isa::Words<2> pair{
                        {isa::bits_of(sums[i][j][2 * half]), isa::bits_of(sums[i][j][2 * half + 1])}};
                    isa::store_shared_at(first + ((16 * i + 8 * half) * tile_pitch(c) + 8 * j) * 4, pair);
                }
            }
        }
    }

    template <Element kValue>
    KG_DEVICE void finish() {
        if (has(kConvAddend)) {
            finish_pixels<kValue, true>();
        } else {
            finish_pixels<kValue, false>();
        }
    }

    template <Element kValue, bool kAddend>
    KG_DEVICE void finish_pixels() {
        Pixel bias, gamma;
        load_channels(bias, params_.bias, has(kConvBias));
        load_channels(gamma, params_.gamma, has(kConvNorm));
        for (uint32_t row = isa::thread_index() / kLanes; row < c.bm; row += kRows) {
            const uint32_t m = tile_.m + row;
            const bool stored = m < params_.pixels;
            const size_t pixel = stored ? static_cast<size_t>(output_pixel(params_, tile_, m)) * params_.c_out : 0;
            Pixel values;
            if constexpr (kAddend) load_addend(values, pixel, stored);
            float squares = 0;
            KG_UNROLL
            for (uint32_t j = 0; j < kQuads; ++j) {
                const uint32_t exist = stored ? count(j) : 0;
                finish_quad<kValue, kAddend>(values[j], row, j, pixel, exist, bias[j]);
                KG_UNROLL
                for (uint32_t i = 0; i < 4; ++i) squares += values[j][i] * values[j][i];
            }
            if (has(kConvNorm)) norm_pixel<kValue>(values, squares, pixel, stored, gamma);
        }
    }

    /// Issues all of a pixel's loads before its first store, since the compiler may not move a load before a store.
    /// These loads bound the speed of a Q-slice convolution.
    KG_DEVICE void load_addend(Pixel& values, size_t pixel, bool stored) const {
        KG_UNROLL
        for (uint32_t j = 0; j < kQuads; ++j) {
            const uint32_t exist = stored ? count(j) : 0;
            if (exist == 0) continue;
            ChannelQuad<Element::F32>::load(values[j], params_.addend[tile_.frame], pixel + channel(j), whole_, exist);
        }
    }

    KG_DEVICE void load_channels(Pixel& values, const float* channels, bool given) const {
        KG_UNROLL
        for (uint32_t j = 0; j < kQuads; ++j) {
            KG_UNROLL
            for (uint32_t i = 0; i < 4; ++i) {
                values[j][i] = given && i < count(j) ? isa::load_global<float>(channels + channel(j) + i) : 0.0f;
            }
        }
    }

    /// With kAddend, `values` are added to the sums. Leaves the rounded values for the norm, zeros for channels that do
    /// not exist.
    template <Element kValue, bool kAddend>
    KG_DEVICE void finish_quad(float (&values)[4], uint32_t row, uint32_t j, size_t pixel, uint32_t exist,
                               const float (&bias)[4]) {
        const auto words =
            isa::load_shared(reinterpret_cast<const isa::Words<4>*>(smem_.tile + row * tile_pitch(c) + 4 * quad(j)));
        const size_t element = pixel + channel(j);
        KG_UNROLL
        for (uint32_t i = 0; i < 4; ++i) {
            const float sum = isa::float_of(words.at[i]);
            values[i] = exist == 0 ? 0.0f : kAddend ? values[i] + sum : sum;
        }
        if (exist == 0) return;
        KG_UNROLL
        for (uint32_t i = 0; i < 4; ++i) values[i] += bias[i];
        if (has(kConvSilu)) {
            KG_UNROLL
            for (uint32_t i = 0; i < 4; ++i) values[i] = isa::silu(values[i]);
        }
        if (has(kConvResidual)) {
            float residual[4];
            ChannelQuad<kValue>::load(residual, params_.residual[tile_.frame], element, whole_, exist);
            KG_UNROLL
            for (uint32_t i = 0; i < 4; ++i) values[i] += params_.beta * residual[i];
        }
        if (has(kConvRelu)) {
            KG_UNROLL
            for (uint32_t i = 0; i < 4; ++i) values[i] = isa::leaky_relu(values[i], params_.negative_slope);
        }
        ChannelQuad<kValue>::round(values);
        KG_UNROLL
        for (uint32_t i = 0; i < 4; ++i) values[i] = i < exist ? values[i] : 0.0f;
        if (has(kConvOutput)) ChannelQuad<kValue>::store(values, params_.output[tile_.frame], element, whole_, exist);
    }

    template <Element kValue>
    KG_DEVICE void norm_pixel(Pixel& values, float squares, size_t pixel, bool stored, const Pixel& gamma) {
        KG_UNROLL
        for (uint32_t mask = 1; mask < kLanes; mask *= 2) squares += isa::shuffle_xor(squares, mask);
        if (!stored) return;
        const float scale = isa::norm_scale(squares, params_.sqrt_c_out);
        KG_UNROLL
        for (uint32_t j = 0; j < kQuads; ++j) {
            if (count(j) == 0) continue;
            float normed[4];
            KG_UNROLL
            for (uint32_t i = 0; i < 4; ++i) {
                const float value = values[j][i] * scale * gamma[j][i];
                normed[i] = has(kConvNormSilu) ? isa::silu(value) : value;
            }
            ChannelQuad<kValue>::store(normed, params_.normed[tile_.frame], pixel + channel(j), whole_, count(j));
        }
    }

    const ConvParams& params_;
    ConvSmem<kConfig>& smem_;
    const ConvTile& tile_;
    bool whole_;  ///< every pixel's channels are whole quads
};

}  // namespace kinetograph::sm80
