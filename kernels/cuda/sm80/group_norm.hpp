#pragma once

#include <kinetograph/kernels/conv/group_norm_params.hpp>
#include <kinetograph/kernels/cuda/sm80/frame_passes.hpp>
#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/shared_memory.hpp>

/// The three kernels of conv::GroupNormParams.
namespace kinetograph::sm80 {

static_assert(conv::kGroupThreads == cuda::kPassThreads);

/// Of the first two kernels. Rows are 16 banks apart, and lanes beside each other write beside each other.
struct GroupSmem {
    static constexpr uint32_t kPitch = conv::kGroupSlab + 16;
    float sums[conv::kGroupRows * kPitch], squares[conv::kGroupRows * kPitch];
};

/// kGroupVector channels from `channel` on of a pixel; zeros after the last.
template <Element kValue>
struct GroupChannels {
    static constexpr uint32_t kVector = conv::kGroupVector, kWords = 4, kOfWords = kWords * isa::word_values(kValue);
    static_assert(kVector % kOfWords == 0);

    KG_DEVICE static bool whole(const conv::GroupNormParams& p) {
        return p.channels % kVector == 0 && reinterpret_cast<size_t>(p.input) % 16 == 0 &&
               reinterpret_cast<size_t>(p.output) % 16 == 0;
    }
    KG_DEVICE static void load(const conv::GroupNormParams& p, uint32_t pixel, uint32_t channel,
                               float (&values)[kVector]) {
        const size_t index = static_cast<size_t>(pixel) * p.channels + channel;
        if (whole(p)) {
            const auto* at = static_cast<const uint8_t*>(p.input) + index * element_bytes(kValue);
            KG_UNROLL
            for (uint32_t first = 0; first < kVector; first += kOfWords) {
                const auto words = isa::load_global<isa::Words<kWords>>(at + first * element_bytes(kValue));
                KG_UNROLL
                for (uint32_t i = 0; i < kWords; ++i)
                    isa::unpack_word<kValue>(words.at[i], values + first + i * isa::word_values(kValue));
            }
        } else {
            KG_UNROLL
            for (uint32_t i = 0; i < kVector; ++i)
                values[i] = channel + i < p.channels ? load_element<kValue>(p.input, index + i) : 0.0f;
        }
    }
    KG_DEVICE static void store(const conv::GroupNormParams& p, uint32_t pixel, uint32_t channel,
                                const float (&values)[kVector]) {
        const size_t index = static_cast<size_t>(pixel) * p.channels + channel;
        if (whole(p)) {
            auto* at = static_cast<uint8_t*>(p.output) + index * element_bytes(kValue);
            KG_UNROLL
            for (uint32_t first = 0; first < kVector; first += kOfWords) {
                isa::Words<kWords> words;
                KG_UNROLL
                for (uint32_t i = 0; i < kWords; ++i)
                    words.at[i] = isa::pack_word<kValue>(values + first + i * isa::word_values(kValue));
                isa::store_global(at + first * element_bytes(kValue), words);
            }
        } else {
            KG_UNROLL
            for (uint32_t i = 0; i < kVector; ++i)
                if (channel + i < p.channels) store_element<kValue>(p.output, index + i, values[i]);
        }
    }
};

template <Element kValue>
struct GroupMomentsKernel {
    static constexpr uint32_t kVector = conv::kGroupVector, kLanes = conv::kGroupLanes, kRows = conv::kGroupRows;

    KG_DEVICE static void run(const conv::GroupNormParams& p) {
        auto& smem = isa::shared_as<GroupSmem>();
        const uint32_t lane = isa::thread_index() % kLanes, row = isa::thread_index() / kLanes;
        const uint32_t slab = isa::block_index().y * conv::kGroupSlab, channel = slab + lane * kVector;
        const uint32_t first = isa::block_index().x * p.tile;
        const uint32_t count = p.pixels - first < p.tile ? p.pixels - first : p.tile;
        float sums[kVector] = {}, squares[kVector] = {};
        if (channel < p.channels) add_pixels(p, first, count, row, channel, sums, squares);
        KG_UNROLL
        for (uint32_t i = 0; i < kVector; ++i) {
            const uint32_t at = row * GroupSmem::kPitch + i * kLanes + lane;
            isa::store_shared(smem.sums + at, sums[i]);
            isa::store_shared(smem.squares + at, squares[i]);
        }
        isa::sync_cta();
        if (isa::thread_index() < conv::kGroupSlab) store_moments(p, smem, slab, first, count);
    }

  private:
    /// Of differences from the tile's first pixel.
    KG_DEVICE static void add_pixels(const conv::GroupNormParams& p, uint32_t first, uint32_t count, uint32_t row,
                                     uint32_t channel, float (&sums)[kVector], float (&squares)[kVector]) {
        float base[kVector], values[kVector];
        GroupChannels<kValue>::load(p, first, channel, base);
        for (uint32_t pixel = row; pixel < count; pixel += kRows) {
            GroupChannels<kValue>::load(p, first + pixel, channel, values);
            KG_UNROLL
            for (uint32_t i = 0; i < kVector; ++i) {
                const float difference = values[i] - base[i];
                sums[i] += difference;
                squares[i] += difference * difference;
            }
        }
    }

    /// The thread's number is where all rows have its channel's sums.
    KG_DEVICE static void store_moments(const conv::GroupNormParams& p, const GroupSmem& smem, uint32_t slab,
                                        uint32_t first, uint32_t count) {
        const uint32_t at = isa::thread_index(), channel = slab + at % kLanes * kVector + at / kLanes;
        if (channel >= p.channels) return;
        float sum = 0, squares = 0;
        for (uint32_t row = 0; row < kRows; ++row) {
            sum += isa::load_shared(smem.sums + row * GroupSmem::kPitch + at);
            squares += isa::load_shared(smem.squares + row * GroupSmem::kPitch + at);
        }
        const float mean = sum / static_cast<float>(count), rest = squares - sum * mean;
        const float base = load_element<kValue>(p.input, static_cast<size_t>(first) * p.channels + channel);
        float* moments = p.moments + static_cast<size_t>(isa::block_index().x) * 2 * p.channels + channel;
        isa::store_global(moments, base + mean);
        isa::store_global(moments + p.channels, rest > 0.0f ? rest : 0.0f);
    }
};

struct GroupFactorsKernel {
    KG_DEVICE static void run(const conv::GroupNormParams& p) {
        auto& smem = isa::shared_as<GroupSmem>();
        const uint32_t width = p.channels / p.groups, channel = isa::block_index().x * width;
        const float base = isa::load_global<float>(p.moments + channel);
        const float part = 1.0f / (static_cast<float>(p.pixels) * static_cast<float>(width));
        const float difference = part * sum_of(smem.sums, p, channel,
                                               [&](float pixels, float mean, float) { return pixels * (mean - base); });
        const float mean = base + difference;
        const float variance = part * sum_of(smem.squares, p, channel, [&](float pixels, float of_tile, float squares) {
                                   return squares + pixels * (of_tile - mean) * (of_tile - mean);
                               });
        const float scale = isa::inverse_square_root(variance + p.epsilon);
        for (uint32_t i = isa::thread_index(); i < width; i += cuda::kPassThreads) {
            isa::store_global(p.factors + channel + i, mean);
            isa::store_global(p.factors + p.channels + channel + i,
                              scale * isa::load_global<float>(p.parameters + channel + i));
        }
    }

  private:
    /// The sum over tiles and the group's channels of term(pixels, mean, squares), in all threads.
    template <class Term>
    KG_DEVICE static float sum_of(float* parts, const conv::GroupNormParams& p, uint32_t channel, const Term& term) {
        const uint32_t width = p.channels / p.groups;
        float sum = 0;
        for (uint32_t i = isa::thread_index(); i < p.tiles * width; i += cuda::kPassThreads) {
            const uint32_t tile = i / width, first = tile * p.tile;
            const float* moments = p.moments + static_cast<size_t>(tile) * 2 * p.channels + channel + i % width;
            const uint32_t pixels = p.pixels - first < p.tile ? p.pixels - first : p.tile;
            sum += term(static_cast<float>(pixels), isa::load_global<float>(moments),
                        isa::load_global<float>(moments + p.channels));
        }
        KG_UNROLL
        for (uint32_t mask = 16; mask > 0; mask /= 2) sum += isa::shuffle_xor(sum, mask);
        const uint32_t warp_of_thread = isa::warp_index();  // by all lanes
        if (isa::lane_index() == 0) isa::store_shared(parts + warp_of_thread, sum);
        isa::sync_cta();
        float all = 0;
        for (uint32_t warp = 0; warp < cuda::kPassThreads / 32; ++warp) all += isa::load_shared(parts + warp);
        return all;
    }
};

template <Element kValue>
struct GroupNormKernel {
    static constexpr uint32_t kVector = conv::kGroupVector, kRows = conv::kGroupRows * conv::kGroupParts;
    static constexpr uint32_t kAtOnce = 4;  ///< pixels of a thread that are on their way together

    KG_DEVICE static void run(const conv::GroupNormParams& p) {
        const uint32_t lane = isa::thread_index() % conv::kGroupLanes,
                       row = isa::block_index().z * conv::kGroupRows + isa::thread_index() / conv::kGroupLanes;
        const uint32_t channel = isa::block_index().y * conv::kGroupSlab + lane * kVector;
        if (channel >= p.channels) return;
        const uint32_t first = isa::block_index().x * p.tile;
        const uint32_t count = p.pixels - first < p.tile ? p.pixels - first : p.tile;
        const Factors factors(p, channel);
        for (uint32_t pixel = row; pixel < count; pixel += kAtOnce * kRows) {
            float values[kAtOnce][kVector];
            KG_UNROLL
            for (uint32_t i = 0; i < kAtOnce; ++i)
                if (pixel + i * kRows < count)
                    GroupChannels<kValue>::load(p, first + pixel + i * kRows, channel, values[i]);
            KG_UNROLL
            for (uint32_t i = 0; i < kAtOnce; ++i) {
                if (pixel + i * kRows >= count) continue;
                factors.norm(values[i], p.silu != 0);
                GroupChannels<kValue>::store(p, first + pixel + i * kRows, channel, values[i]);
            }
        }
    }

  private:
    /// Of a thread's channels; zeros after the last.
    struct Factors {
        float mean[kVector] = {}, scale[kVector] = {}, bias[kVector] = {};

        KG_DEVICE Factors(const conv::GroupNormParams& p, uint32_t channel) {
            KG_UNROLL
            for (uint32_t i = 0; i < kVector; ++i) {
                if (channel + i >= p.channels) continue;
                mean[i] = isa::load_global<float>(p.factors + channel + i);
                scale[i] = isa::load_global<float>(p.factors + p.channels + channel + i);
                bias[i] = isa::load_global<float>(p.parameters + p.channels + channel + i);
            }
        }
        KG_DEVICE void norm(float (&values)[kVector], bool silu) const {
            KG_UNROLL
            for (uint32_t i = 0; i < kVector; ++i) {
                values[i] = (values[i] - mean[i]) * scale[i] + bias[i];
                if (silu) values[i] = isa::silu(values[i]);
            }
        }
    };
};

}  // namespace kinetograph::sm80
