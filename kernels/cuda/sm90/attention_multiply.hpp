#pragma once

#include <kinetograph/kernels/cuda/sm90/attention_load.hpp>
#include <kinetograph/kernels/cuda/sm90/ring.hpp>
#include <kinetograph/kernels/isa/thread.hpp>
#include <kinetograph/kernels/isa/wgmma.hpp>

/// The two products of one warpgroup: scores = queries * keys^T of a tile, and sums += weights * values of a tile.
namespace kinetograph::sm90 {

/// A thread's scores of 64 queries and a tile of keys, laid out as wgmma.hpp says.
using Scores = float[kKeyTile / 2];
/// A thread's sums of 64 queries: [stage of channels][accumulators of one product].
template <AttentionConfig kConfig>
using Sums = float[tile_stages(kConfig)][stage_channels(kConfig) / 2];

template <AttentionConfig kConfig, AttentionFault kFault>
class AttentionMultiply {
  public:
    using Smem = AttentionSmem<kConfig>;
    static constexpr AttentionConfig c = kConfig;

    KG_DEVICE AttentionMultiply(const AttentionParams& params, Smem& smem, uint32_t consumer)
        : load_(params, smem),
          smem_(smem),
          consumer_(consumer),
          query_(isa::shared_address(smem.query[consumer])),
          weights_(isa::shared_address(smem.weights[consumer])) {}

    KG_DEVICE void await_queries() {
        if constexpr (kFault != AttentionFault::NoQueryWait) isa::mbarrier::wait(smem_.query_full[consumer_], 0);
    }

    // A turn's products follow one another without a gap; between two turns a warpgroup computes weights while the
    // other multiplies. si: scores of key tile i; vi: sums += weights * values of key tile i.
    //
    //   warpgroup 0   s0 | weights 0 | v0 s1 | weights 1 | v1 s2 |  ...  | vn | store
    //   warpgroup 1        s0        | weights 0 | v0 s1 | weights 1 |   ...       | vn | store

    /// The first turn: scores of the first tile of keys.
    KG_DEVICE void first_turn(Scores& scores) {
        multiply_keys(scores, true);
        end_turn();
        isa::wgmma::take(scores);
    }
    /// The values of a tile, then the scores of the next.
    KG_DEVICE void turn(Scores& scores, Sums<c>& sums) {
        multiply_values(sums);
        multiply_keys(scores, false);
        end_turn();
        isa::wgmma::take(scores);
        take(sums);
    }
    /// The last one: the values of the last tile.
    KG_DEVICE void last_turn(Sums<c>& sums) {
        multiply_values(sums);
        end_turn();
        take(sums);
    }

  private:
    KG_DEVICE static void take(Sums<c>& sums) {
        KG_UNROLL
        for (uint32_t i = 0; i < tile_stages(c); ++i) isa::wgmma::take(sums[i]);
    }

    /// Scores of this warpgroup's queries and the tile's keys, a stage of channels at a time. `first`: its turn begins
    /// with them.
    KG_DEVICE void multiply_keys(Scores& scores, bool first) {
        const uint32_t queries = isa::recomputed(query_);
        // Zeros for the first product to add to: the compiler need not keep the previous tile's weights alive as its
        // input.
        KG_UNROLL
        for (float& score : scores) score = 0;
        isa::wgmma::pin(scores);
        KG_UNROLL
        for (uint32_t stage = 0; stage < tile_stages(c); ++stage) {
            const uint32_t keys = await_stage();
            isa::wgmma::fence();
            KG_UNROLL
            for (uint32_t step = 0; step < stage_channels(c) / 16; ++step) {
                const uint32_t block = step / 4, byte = step % 4 * 32;
                // Anew for each product: with 384 channels no register is left for what advanced() would start from.
                const auto rows = [&](uint32_t address) {
                    return isa::wgmma_descriptor(
                        {.address = address + byte, .group_stride = 8 * kSpanBytes, .swizzle = kAttentionSwizzle});
                };
                isa::wgmma::mma<kKeyTile, c.element>(
                    scores, rows(queries + (stage * stage_blocks(c) + block) * kQueryBlockBytes),
                    rows(keys + block * kKeyBlockBytes), true);
            }
            finish_stage(first && stage == 0);
        }
    }

    /// sums += stored weights * values. The keys of a tile are K and the channels N: B is stored [K][N], MN-major.
    KG_DEVICE void multiply_values(Sums<c>& sums) {
        constexpr uint32_t kChunk = kFault == AttentionFault::WrongValueStride ? 8 * kSpanBytes : kKeyBlockBytes;
        const uint64_t weights = isa::wgmma_descriptor(
            {.address = isa::recomputed(weights_), .group_stride = 8 * kSpanBytes, .swizzle = kAttentionSwizzle});
        KG_UNROLL
        for (uint32_t stage = 0; stage < tile_stages(c); ++stage) {
            const uint64_t values = isa::wgmma_descriptor({.address = await_stage(),
                                                           .group_stride = 8 * kSpanBytes,
                                                           .swizzle = kAttentionSwizzle,
                                                           .chunk_stride = kChunk});
            isa::wgmma::fence();
            KG_UNROLL
            for (uint32_t step = 0; step < kKeyTile / 16; ++step) {
                isa::wgmma::mma<stage_channels(c), c.element, isa::Major::MN>(
                    sums[stage], isa::advanced(weights, step * 32), isa::advanced(values, step * 16 * kSpanBytes),
                    true);
            }
            finish_stage(stage == 0);
        }
    }

    /// The shared address of the next stage, after it has landed.
    KG_DEVICE uint32_t await_stage() {
        if constexpr (kFault != AttentionFault::NoStageWait)
            isa::mbarrier::wait(smem_.stage_full[ring_.slot], ring_.parity);
        return isa::shared_address(smem_.stage[ring_.slot]);
    }

    /// Releases the previous stage of the turn: its products are complete once only this stage's are pending.
    KG_DEVICE void finish_stage(bool first_of_turn) {
        isa::wgmma::commit();
        if constexpr (kFault == AttentionFault::ReleasesEarly) {
            release();
        } else {
            isa::wgmma::wait<1>();
            if (!first_of_turn) release();
        }
        ring_.advance();
    }
    KG_DEVICE void end_turn() {
        if constexpr (kFault != AttentionFault::NoFinalWait) isa::wgmma::wait<0>();
        if constexpr (kFault != AttentionFault::ReleasesEarly) release();
    }
    /// Releases the oldest stage that is not yet released, one arrival per warp. Warp 4, of the second warpgroup, which
    /// starts after the first, waits for the arrivals of all warps and loads the next stage into the slot.
    KG_DEVICE void release() {
        isa::mbarrier::Barrier& empty = smem_.stage_empty[released_.slot];
        if (isa::lane_index() == 0) isa::mbarrier::arrive(empty);
        if (consumer_ == 1 && isa::recomputed(isa::thread_index()) / 32 == 4) {
            if constexpr (kFault != AttentionFault::NoEmptyWait) isa::mbarrier::wait(empty, released_.parity);
            if (isa::elect_one()) load_.stage(number_ + attention_stages(c), released_.slot);
            isa::sync_warp();
        }
        released_.advance();
        ++number_;
    }

    AttentionLoad<kConfig, kFault> load_;
    Smem& smem_;
    uint32_t consumer_;
    uint32_t query_, weights_;
    Ring<attention_stages(c)> ring_, released_;
    uint32_t number_ = 0;  ///< stages released
};

}  // namespace kinetograph::sm90
