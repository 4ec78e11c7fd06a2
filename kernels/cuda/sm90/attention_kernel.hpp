#pragma once

#include <kinetograph/kernels/cuda/sm90/attention_load.hpp>
#include <kinetograph/kernels/cuda/sm90/attention_softmax.hpp>

/// softmax(Q K^T / sqrt(C)) V on Hopper without storing the tokens x tokens matrix: TMA loads keys and values in tiles;
/// one warpgroup multiplies while the other computes its softmax. Dao et al. 2022 (FlashAttention); Shah et al. 2024
/// (FlashAttention-3: two warpgroups in ping-pong).
namespace kinetograph::sm90 {

/// Grid: tiles of 128 queries, frames; kAttentionThreads threads.
template <AttentionConfig kConfig, AttentionFault kFault = AttentionFault::None>
struct AttentionKernel {
    static constexpr AttentionConfig c = kConfig;
    using Smem = AttentionSmem<kConfig>;
    static_assert(sizeof(Smem) <= kSharedLimit, "more shared memory than a block may have");

    KG_DEVICE static void run(const AttentionParams& params) {
        auto& smem = isa::shared_as<Smem>();
        if (isa::thread_index() == 0) initialise_barriers(smem);
        isa::sync_cta();
        if (isa::thread_index() == 0) AttentionLoad<kConfig, kFault>(params, smem).first();
        isa::sync_warp();
        consume(params, smem, isa::warp_index() / 4);
    }

  private:
    KG_DEVICE static void initialise_barriers(Smem& smem) {
        constexpr uint32_t kWarps = 4;  // per warpgroup; each arrives once
        for (auto& barrier : smem.query_full) isa::mbarrier::init(barrier, 1);
        for (auto& barrier : smem.stage_full) isa::mbarrier::init(barrier, 1);
        for (auto& barrier : smem.stage_empty) isa::mbarrier::init(barrier, kAttentionConsumers * kWarps);
        if constexpr (kFault != AttentionFault::NoBarrierInitFence) isa::fence_barrier_init();
    }

    /// One warpgroup's 64 queries, from the first score to the store.
    KG_DEVICE static void consume(const AttentionParams& params, Smem& smem, uint32_t consumer) {
        AttentionMultiply<kConfig, kFault> multiply(params, smem, consumer);
        AttentionSoftmax<kConfig, kFault> softmax(params, smem, consumer);
        Scores scores;
        Sums<c> sums = {};
        multiply.await_queries();
        multiply.first_turn(scores);
        softmax.weigh(scores, sums, params.tokens);
        const uint32_t tiles = key_tiles(params);
        for (uint32_t tile = 1; tile < tiles; ++tile) {
            multiply.turn(scores, sums);
            softmax.weigh(scores, sums, params.tokens - tile * kKeyTile);
        }
        if (params.gamma != nullptr) {  // no product reads the queries any more
            if (isa::thread_index() % 128 == 0)
                AttentionLoad<kConfig, kFault>(params, smem).rows(consumer, params.output[isa::block_index().y]);
            isa::sync_warp();
        }
        multiply.last_turn(sums);
        softmax.finish(sums);
    }
};

}  // namespace kinetograph::sm90
