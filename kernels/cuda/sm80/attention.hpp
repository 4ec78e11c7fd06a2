#pragma once

#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/cuda/host/pass_launch.hpp>
#include <kinetograph/kernels/cuda/sm80/attention_widths.hpp>
#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/convert.hpp>
#include <kinetograph/kernels/isa/cp_async.hpp>
#include <kinetograph/kernels/isa/global_memory.hpp>
#include <kinetograph/kernels/isa/math.hpp>
#include <kinetograph/kernels/isa/shuffle.hpp>
#include <kinetograph/kernels/isa/thread.hpp>
#include <kinetograph/kernels/isa/warp_matrix.hpp>

/// softmax(Q K^T / sqrt(C)) V without storing the tokens x tokens matrix: keys are taken tile by tile, and the sums so
/// far are rescaled when a row's maximum grows (Dao et al. 2022, FlashAttention; Milakov and Gimelshein 2018).
namespace kinetograph::sm80 {

/// Mistakes that can be built in on purpose; see conv_faults.hpp.
enum class AttentionFault : uint8_t {
    None,
    NoBarrierBeforeKeys,
    NoBarrierBeforeValues,
    NoWaitForValues,
    KeysNotMasked
};

inline constexpr uint32_t kQueryTile = 64, kKeyTile = 32, kAttentionThreads = 128;

/// softmax(q k^T / sqrt(channels)) v of each frame, one head as wide as the channels, no mask.
struct AttentionParams {
    cuda::FrameTable
        frames;  ///< [tokens, 3 * channels]: query, key, value of a token in this order; to [tokens, channels]
    uint32_t tokens;
    uint32_t channels;  ///< a multiple of 8, at most the kernel's width
    float scale;        ///< 1 / sqrt(channels)
};

/// sm80_attention_<type>_<width>
inline cuda::PassLaunch attention_launch(uint32_t tokens, uint32_t width, uint32_t frames) {
    uint32_t slice = width;
#define KG_SLICED(wide) \
    if (width == (wide)) slice = kAttentionSlice;
    KG_SM80_SLICED_ATTENTION_WIDTHS(KG_SLICED)
#undef KG_SLICED
    return {.grid = {conv::ceil_div(tokens, kQueryTile), frames, width / slice},
            .threads = kAttentionThreads,
            .shared_bytes = (kQueryTile + 2 * kKeyTile) * slice * 2};
}

/// Rows of one token each. A CTA of width 384 takes 96 KiB, which fits every chip since sm_80.
template <uint32_t kChannels>
struct AttentionSmem {
    alignas(1024) uint16_t query[kQueryTile * kChannels];
    uint16_t key[kKeyTile * kChannels];
    uint16_t value[kKeyTile * kChannels];
};

/// Grid: tiles of 64 queries, frames, slices of kChannels; 4 warps, each with 16 queries and all channels of their
/// sums. A head of fewer than kChannels is padded with zeros. A head of up to kWidth, more than kChannels, is taken in
/// slices: every CTA adds up the scores slice by slice and then sums only its own slice of the values. 1024 channels
/// in 4 slices cost 4 * (1024 + 256) in place of 2 * 1024 multiply-adds, 2.5 times as many; a decoder has few of them.
template <Element kElement, uint32_t kChannels, AttentionFault kFault = AttentionFault::None,
          uint32_t kWidth = kChannels>
struct AttentionKernel {
    static constexpr bool kSliced = kWidth > kChannels;
    static_assert(kChannels % 64 == 0, "rows are whole periods of the swizzle: 8 chunks of 8 channels");
    static_assert(sizeof(AttentionSmem<kChannels>) <= 99 * 1024, "99 KiB: opt-in limit of sm_86, sm_89 and sm_120");
    static constexpr Element kValue = kElement == Element::BF16 ? Element::BF16 : Element::F16;
    static constexpr uint32_t kRowBytes = kChannels * 2, kRowChunks = kChannels / 8;
    static constexpr uint32_t kScoreTiles = kKeyTile / 8, kOutputTiles = kChannels / 8;
    using Smem = AttentionSmem<kChannels>;

    /// State of a lane's two rows, lane / 4 and lane / 4 + 8 of its warp's 16.
    struct Softmax {
        float maximum[2] = {kLowest, kLowest};
        float sum[2] = {0, 0};  ///< of this lane's columns only, until the end
    };

    KG_DEVICE static void run(const AttentionParams& params) {
        auto& smem = isa::shared_as<Smem>();
        const auto* frame = static_cast<const uint8_t*>(params.frames.input[isa::block_index().y]);
        const uint32_t first = isa::block_index().x * kQueryTile, own = kSliced ? isa::block_index().z : 0;
        if (own * kChannels >= params.channels) return;  // the head is narrower than kWidth
        copy_rows<kQueryTile>(smem.query, params, frame, first, 0);
        copy_rows<kKeyTile>(smem.key, params, frame + row_bytes(params), 0, 0);
        isa::cp_async::commit();

        float output[kOutputTiles][4] = {};
        Softmax softmax;
        for (uint32_t key = 0; key < params.tokens; key += kKeyTile) {
            float scores[kScoreTiles][4] = {};
            if constexpr (kSliced) add_slices(smem, params, frame, first, key, scores);
            copy_rows<kKeyTile>(smem.value, params, frame + 2 * row_bytes(params), key, own);
            isa::cp_async::commit();
            isa::cp_async::wait<1>();  // the keys, and the first time the queries
            isa::sync_cta();
            multiply_keys(smem, scores);
            if constexpr (kFault != AttentionFault::NoBarrierBeforeKeys)
                isa::sync_cta();  // before keys are overwritten
            if constexpr (kSliced) copy_rows<kQueryTile>(smem.query, params, frame, first, 0);
            copy_rows<kKeyTile>(smem.key, params, frame + row_bytes(params), key + kKeyTile, 0);
            isa::cp_async::commit();
            weigh(params, params.tokens - key, scores, softmax, output);
            if constexpr (kFault != AttentionFault::NoWaitForValues) isa::cp_async::wait<1>();  // the values
            isa::sync_cta();
            multiply_values(smem, scores, output);
            if constexpr (kFault != AttentionFault::NoBarrierBeforeValues) isa::sync_cta();
        }
        isa::cp_async::wait<0>();
        store(params, first, own, softmax, output);
    }

  private:
    static constexpr float kLowest = -3.0e38f;

    /// Chunks rotate by row within each 128 bytes, so that the 8 rows of an ldmatrix use different banks.
    KG_DEVICE static uint32_t offset(uint32_t row, uint32_t chunk) {
        return row * kRowBytes + ((chunk ^ (row % 8)) * 16);
    }

    /// The address of a chunk that is an even number of chunks after chunk 0 or 1 at `address` in the same row: the
    /// rotation is an XOR, so within 128 bytes the distance is XORed in, too.
    KG_DEVICE static uint32_t further(uint32_t address, uint32_t chunks) {
        return (address ^ (chunks % 8 * 16)) + chunks / 8 * 128;
    }

    /// Bytes of a token's query, key or value.
    KG_DEVICE static uint32_t row_bytes(const AttentionParams& params) { return params.channels * 2; }

    /// Adds the scores of all slices but the last, and leaves the copies of the last in flight.
    KG_DEVICE static void add_slices(Smem& smem, const AttentionParams& params, const uint8_t* frame, uint32_t first,
                                     uint32_t key, float (&scores)[kScoreTiles][4]) {
        KG_ROLLED
        for (uint32_t next = 1; next * kChannels < params.channels; ++next) {
            isa::cp_async::wait<0>();
            isa::sync_cta();
            multiply_keys(smem, scores);
            isa::sync_cta();
            copy_rows<kQueryTile>(smem.query, params, frame, first, next);
            copy_rows<kKeyTile>(smem.key, params, frame + row_bytes(params), key, next);
            isa::cp_async::commit();
        }
    }

    /// A slice of the rows [first, first + kRows) of one of query, key and value; zeros after the last token and
    /// channel.
    template <uint32_t kRows>
    KG_DEVICE static void copy_rows(uint16_t* destination, const AttentionParams& params, const uint8_t* source,
                                    uint32_t first, uint32_t slice) {
        const uint32_t to = isa::shared_address(destination);
        KG_ROLLED
        for (uint32_t i = isa::thread_index(); i < kRows * kRowChunks; i += kAttentionThreads) {
            const uint32_t row = i / kRowChunks, chunk = i % kRowChunks;
            const bool has = first + row < params.tokens && slice * kChannels + chunk * 8 < params.channels;
            const uint8_t* from =
                has ? source + static_cast<size_t>(first + row) * 3 * row_bytes(params) + slice * kRowBytes + chunk * 16
                    : source;
            isa::cp_async::copy<16, isa::cp_async::Cache::L2Only>(to + offset(row, chunk), from, has ? 16 : 0);
        }
    }

    /// scores = this warp's 16 queries times the 32 keys.
    KG_DEVICE static void multiply_keys(Smem& smem, float (&scores)[kScoreTiles][4]) {
        const uint32_t lane = isa::lane_index();
        const uint32_t query_row = isa::warp_index() * 16 + lane % 16, key_row = lane % 8 + lane / 16 * 8;
        const uint32_t query = isa::shared_address(smem.query) + offset(query_row, lane / 16);
        const uint32_t key = isa::shared_address(smem.key) + offset(key_row, lane / 8 % 2);
        // A loop over 64 channels at a time, each a constant distance after the last: all 24 steps unrolled need more
        // registers than there are.
        KG_ROLLED
        for (uint32_t period = 0; period < kChannels / 64; ++period) {
            KG_UNROLL
            for (uint32_t step = 0; step < 4; ++step) {
                uint32_t a[4];
                isa::load_matrices(a, further(query, 2 * step) + period * 128);
                KG_UNROLL
                for (uint32_t j = 0; j < kScoreTiles; j += 2) {
                    uint32_t b[4];
                    isa::load_matrices(b, further(key, 2 * step) + period * 128 + j * 8 * kRowBytes);
                    const uint32_t left[2] = {b[0], b[1]}, right[2] = {b[2], b[3]};
                    isa::multiply_add<kElement>(scores[j], a, left);
                    isa::multiply_add<kElement>(scores[j + 1], a, right);
                }
            }
        }
    }

    /// Turns scores into weights e^(score - maximum) and rescales the sums if the maximum grew. `keys`: how many keys
    /// the frame has from the tile's first on.
    KG_DEVICE static void weigh(const AttentionParams& params, uint32_t keys, float (&scores)[kScoreTiles][4],
                                Softmax& softmax, float (&output)[kOutputTiles][4]) {
        KG_UNROLL
        for (uint32_t half = 0; half < 2; ++half) {
            float maximum = softmax.maximum[half];
            KG_UNROLL
            for (uint32_t j = 0; j < kScoreTiles; ++j) {
                KG_UNROLL
                for (uint32_t i = 2 * half; i < 2 * half + 2; ++i) {
                    const bool has = 8 * j + isa::lane_index() % 4 * 2 + i % 2 < keys;
                    scores[j][i] =
                        has || kFault == AttentionFault::KeysNotMasked ? scores[j][i] * params.scale : kLowest;
                    maximum = scores[j][i] > maximum ? scores[j][i] : maximum;
                }
            }
            KG_UNROLL
            for (uint32_t mask = 1; mask <= 2; mask *= 2) {
                const float other = isa::shuffle_xor(maximum, mask);
                maximum = other > maximum ? other : maximum;
            }
            const float rescale = isa::exponential(softmax.maximum[half] - maximum);
            softmax.maximum[half] = maximum;
            softmax.sum[half] *= rescale;
            KG_UNROLL
            for (uint32_t j = 0; j < kScoreTiles; ++j) {
                KG_UNROLL
                for (uint32_t i = 2 * half; i < 2 * half + 2; ++i) {
                    scores[j][i] = isa::exponential(scores[j][i] - maximum);
                    softmax.sum[half] += scores[j][i];
                }
            }
            KG_UNROLL
            for (uint32_t j = 0; j < kOutputTiles; ++j) {
                output[j][2 * half] *= rescale;
                output[j][2 * half + 1] *= rescale;
            }
        }
    }

    /// output += weights times values; the weights, rounded to the element, are already laid out as an operand.
    KG_DEVICE static void multiply_values(Smem& smem, const float (&weights)[kScoreTiles][4],
                                          float (&output)[kOutputTiles][4]) {
        const uint32_t lane = isa::lane_index();
        const uint32_t value = isa::shared_address(smem.value) + offset(lane % 16, lane / 16);
        KG_UNROLL
        for (uint32_t step = 0; step < kKeyTile / 16; ++step) {
            const float(&left)[4] = weights[2 * step];
            const float(&right)[4] = weights[2 * step + 1];
            const uint32_t a[4] = {isa::pack_word<kValue>(left), isa::pack_word<kValue>(left + 2),
                                   isa::pack_word<kValue>(right), isa::pack_word<kValue>(right + 2)};
            KG_UNROLL
            for (uint32_t j = 0; j < kOutputTiles; j += 2) {
                uint32_t b[4];
                isa::load_matrices<true>(b, further(value, j) + step * 16 * kRowBytes);
                const uint32_t first[2] = {b[0], b[1]}, second[2] = {b[2], b[3]};
                isa::multiply_add<kElement>(output[j], a, first);
                isa::multiply_add<kElement>(output[j + 1], a, second);
            }
        }
    }

    KG_DEVICE static void store(const AttentionParams& params, uint32_t first, uint32_t slice, const Softmax& softmax,
                                const float (&output)[kOutputTiles][4]) {
        auto* frame = static_cast<uint8_t*>(params.frames.output[isa::block_index().y]);
        KG_UNROLL
        for (uint32_t half = 0; half < 2; ++half) {
            float sum = softmax.sum[half];
            sum += isa::shuffle_xor(sum, 1);
            sum += isa::shuffle_xor(sum, 2);
            const float scale = 1.0f / sum;
            const uint32_t token = first + isa::warp_index() * 16 + 8 * half + isa::lane_index() / 4;
            if (token >= params.tokens) continue;
            uint8_t* row =
                frame + static_cast<size_t>(token) * row_bytes(params) + slice * kRowBytes + isa::lane_index() % 4 * 4;
            KG_UNROLL
            for (uint32_t j = 0; j < kOutputTiles; ++j) {
                if (slice * kChannels + j * 8 >= params.channels) continue;
                const float values[2] = {output[j][2 * half] * scale, output[j][2 * half + 1] * scale};
                isa::store_global(row + j * 16, isa::pack_word<kValue>(values));
            }
        }
    }
};

}  // namespace kinetograph::sm80
