#pragma once

#include <kinetograph/kernels/cuda/sm90/attention_multiply.hpp>
#include <kinetograph/kernels/cuda/sm90/attention_params.hpp>
#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/fence.hpp>
#include <kinetograph/kernels/isa/global_memory.hpp>
#include <kinetograph/kernels/isa/math.hpp>
#include <kinetograph/kernels/isa/shuffle.hpp>
#include <kinetograph/kernels/isa/tma.hpp>

/// From scores to weights, and from sums to results. A row is a query; a warp has 16 of its warpgroup's 64, and a
/// thread two of these, lane / 4 and lane / 4 + 8. The four lanes of a row share its columns.
namespace kinetograph::sm90 {

/// Online softmax, of this thread's two rows: Milakov and Gimelshein 2018. Weights are 2^(scale * (score - maximum)).
struct Softmax {
    float maximum[2] = {-3.0e38f, -3.0e38f};
    float sum[2] = {0, 0};  ///< of this thread's columns only, until the end
};

template <AttentionConfig kConfig, AttentionFault kFault>
class AttentionSoftmax {
  public:
    using Smem = AttentionSmem<kConfig>;
    static constexpr AttentionConfig c = kConfig;
    static constexpr Element kValue = c.element;

    KG_DEVICE AttentionSoftmax(const AttentionParams& params, Smem& smem, uint32_t consumer)
        : p_(params), smem_(smem), consumer_(consumer) {}

    /// Stores the weights of a tile for the product with its values, and rescales the sums if the maximum grew.
    /// `keys`: how many keys the frame has from the tile's first on.
    KG_DEVICE void weigh(Scores& scores, Sums<c>& sums, uint32_t keys) {
        if (kFault != AttentionFault::KeysNotMasked && keys < kKeyTile) mask(scores, keys);
        float rescale[2];
        KG_UNROLL
        for (uint32_t half = 0; half < 2; ++half) rescale[half] = weigh_row(scores, half);
        store_weights(scores);
        if constexpr (kFault != AttentionFault::NotRescaled) {
            KG_UNROLL
            for (uint32_t stage = 0; stage < tile_stages(c); ++stage) {
                KG_UNROLL
                for (uint32_t i = 0; i < stage_channels(c) / 2; ++i) sums[stage][i] *= rescale[i / 2 % 2];
            }
        }
        if constexpr (kFault != AttentionFault::NoWeightFence) isa::fence_async_shared();
        sync();
    }

    /// Divides the sums by the sums of the weights and stores them, or adds them to the output and stores the RMS norm
    /// of its rounded values too; staged in the queries' shared memory.
    KG_DEVICE void finish(Sums<c>& sums) {
        float inverse[2];
        KG_UNROLL
        for (uint32_t half = 0; half < 2; ++half) {
            float sum = softmax_.sum[half];
            sum += isa::shuffle_xor(sum, 1);
            sum += isa::shuffle_xor(sum, 2);
            inverse[half] = 1.0f / sum;
        }
        if (p_.gamma != nullptr) return add_and_norm(sums, inverse);
        each_pair(sums, [&](float* pair, uint32_t half, uint32_t, uint32_t* staged) {
            const float values[2] = {pair[0] * inverse[half], pair[1] * inverse[half]};
            isa::store_shared(staged, isa::pack_word<kValue>(values));
        });
        store_blocks(p_.output[isa::block_index().y]);
    }

  private:
    KG_DEVICE void add_and_norm(Sums<c>& sums, const float (&inverse)[2]) {
        if constexpr (kFault != AttentionFault::NoResidualWait) isa::mbarrier::wait(smem_.query_full[consumer_], 1);
        float scale[2] = {0, 0};
        each_pair(sums, [&](float* pair, uint32_t half, uint32_t, uint32_t* staged) {
            float residual[2];
            isa::unpack_word<kValue>(isa::load_shared(staged), residual);
            KG_UNROLL
            for (uint32_t i = 0; i < 2; ++i) pair[i] = pair[i] * inverse[half] + residual[i];
            const uint32_t stored = isa::pack_word<kValue>(pair);
            isa::store_shared(staged, stored);
            isa::unpack_word<kValue>(stored, pair);
            scale[half] += pair[0] * pair[0] + pair[1] * pair[1];
        });
        KG_UNROLL
        for (float& sum : scale) {
            sum += isa::shuffle_xor(sum, 1);
            sum += isa::shuffle_xor(sum, 2);
            sum = isa::norm_scale(sum, p_.sqrt_channels);
        }
        store_blocks(p_.output[isa::block_index().y]);
        auto* const gammas = reinterpret_cast<float*>(smem_.weights[consumer_]);  // which no product reads any more
        for (uint32_t i = isa::thread_index() % 128; i < c.width; i += 128)
            isa::store_shared(gammas + i, i < p_.channels ? isa::load_global<float>(p_.gamma + i) : 0.0f);
        sync();  // and the staged results have been read
        each_pair(sums, [&](float* pair, uint32_t half, uint32_t channel, uint32_t* staged) {
            const auto gamma = isa::load_shared(reinterpret_cast<const Pair*>(gammas + channel));
            KG_UNROLL
            for (uint32_t i = 0; i < 2; ++i) {
                pair[i] *= scale[half] * gamma.at[i];
                if (p_.norm_silu != 0) pair[i] = isa::silu(pair[i]);
            }
            isa::store_shared(staged, isa::pack_word<kValue>(pair));
        });
        store_blocks(p_.normed[isa::block_index().y]);
    }
    struct alignas(8) Pair {
        float at[2];
    };

    /// Calls visit(two sums of one row, which of this thread's rows, the first one's channel, their word in the
    /// queries' shared memory) for all sums.
    template <class Visit>
    KG_DEVICE void each_pair(Sums<c>& sums, const Visit& visit) {
        const uint32_t first = first_word();
        KG_UNROLL
        for (uint32_t stage = 0; stage < tile_stages(c); ++stage) {
            KG_UNROLL
            for (uint32_t i = 0; i < stage_channels(c) / 2; i += 2) {
                const uint32_t block = stage * stage_blocks(c) + i / 32;
                visit(sums[stage] + i, i / 2 % 2, block * kSpanChannels + i % 32 / 4 * 8 + isa::lane_index() % 4 * 2,
                      word(smem_.query[consumer_][block], first, i % 32));
            }
        }
    }

    /// Keys past the frame's last get scores whose weight is 0.
    KG_DEVICE static void mask(Scores& scores, uint32_t keys) {
        KG_UNROLL
        for (uint32_t i = 0; i < kKeyTile / 2; ++i) {
            if (i / 4 * 8 + isa::lane_index() % 4 * 2 + i % 2 >= keys) scores[i] = -3.0e38f;
        }
    }

    /// Turns one row's scores into weights; returns the factor that rescales the row's sums so far.
    KG_DEVICE float weigh_row(Scores& scores, uint32_t half) {
        float maximum = softmax_.maximum[half];
        KG_UNROLL
        for (uint32_t i = 2 * half; i < kKeyTile / 2; i += 4)
            maximum = larger(maximum, larger(scores[i], scores[i + 1]));
        maximum = larger(maximum, isa::shuffle_xor(maximum, 1));
        maximum = larger(maximum, isa::shuffle_xor(maximum, 2));
        const float rescale = isa::power_of_two((softmax_.maximum[half] - maximum) * p_.scale);
        const float offset = -maximum * p_.scale;
        float sum = softmax_.sum[half] * rescale;
        KG_UNROLL
        for (uint32_t i = 2 * half; i < kKeyTile / 2; i += 4) {
            scores[i] = isa::power_of_two(scores[i] * p_.scale + offset);
            scores[i + 1] = isa::power_of_two(scores[i + 1] * p_.scale + offset);
            sum += scores[i] + scores[i + 1];
        }
        softmax_.maximum[half] = maximum;
        softmax_.sum[half] = sum;
        return rescale;
    }
    KG_DEVICE static float larger(float a, float b) { return a > b ? a : b; }

    /// Needs no barrier: only a warp's own products read its rows, and the previous ones are complete.
    KG_DEVICE void store_weights(const Scores& scores) {
        const uint32_t first = first_word();
        KG_UNROLL
        for (uint32_t i = 0; i < kKeyTile / 2; i += 2)
            isa::store_shared(word(smem_.weights[consumer_], first, i), isa::pack_word<kValue>(scores + i));
    }

    /// Offset in a block of this thread's first two columns (4 bytes), in row lane / 4 of its warp's 16. word() derives
    /// the others: the swizzle repeats every 8 rows, and 8 columns are a 16-byte chunk, whose index is XORed in.
    KG_DEVICE static uint32_t first_word() {
        const uint32_t row = isa::thread_index() % 128 / 32 * 16 + isa::lane_index() / 4;
        return isa::recomputed(isa::swizzled(kAttentionSwizzle, row * kSpanBytes) + isa::lane_index() % 4 * 4);
    }
    /// The word of accumulators i and i + 1 of a product of 64 columns.
    KG_DEVICE static uint32_t* word(uint8_t* block, uint32_t first, uint32_t i) {
        return reinterpret_cast<uint32_t*>(block + (first ^ (i / 4 * 16)) + i / 2 % 2 * 8 * kSpanBytes);
    }

    /// Returns, on the thread that stores, when the staged rows have been read.
    KG_DEVICE void store_blocks(const isa::TensorMap& map) {
        if constexpr (kFault != AttentionFault::NoResultFence) isa::fence_async_shared();
        if constexpr (kFault != AttentionFault::NoResultBarrier) sync();
        if (isa::thread_index() % 128 != 0) return;
        const uint32_t token = isa::block_index().x * kQueryTile + consumer_ * kWarpgroupQueries;
        for (uint32_t block = 0; block < width_blocks(c); ++block) {
            isa::tma::store_tiled<2>(map, {{static_cast<int32_t>(block * kSpanChannels), static_cast<int32_t>(token)}},
                                     smem_.query[consumer_][block]);
        }
        isa::tma::commit_stores();
        if constexpr (kFault != AttentionFault::NoReadWait) isa::tma::wait_stores_read<0>();
    }

    /// All threads of this warpgroup.
    KG_DEVICE void sync() {
        if (consumer_ == 0) {
            isa::sync_named(1, 128);
        } else {
            isa::sync_named(2, 128);
        }
    }

    const AttentionParams& p_;
    Smem& smem_;
    uint32_t consumer_;
    Softmax softmax_;
};

}  // namespace kinetograph::sm90
