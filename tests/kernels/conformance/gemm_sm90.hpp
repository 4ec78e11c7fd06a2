#pragma once

#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/fence.hpp>
#include <kinetograph/kernels/isa/thread.hpp>
#include <kinetograph/kernels/isa/tma.hpp>
#include <kinetograph/kernels/isa/wgmma.hpp>

#include "bfloat16.hpp"

/// D[M, N] = A[M, K] * B[N, K]^T in bf16, the smallest kernel with every part of an SM90 mainloop: TMA ring, producer
/// and consumer warpgroups, wgmma, filter rows shared by multicast, registers, staged TMA store. One source for chip
/// and host.
namespace kinetograph::conformance {

struct GemmSm90Params {
    isa::TensorMap a;  ///< {K, M}, box {64, 128}, 128B swizzle
    isa::TensorMap b;  ///< {K, N}, box {64, kBN / cluster}, 128B swizzle
    isa::TensorMap d;  ///< {N, M}, box {kBN, 64}
    uint32_t k_blocks;
};

/// Grid: (M / 128 rounded up to the cluster, N / kN); cluster (kCluster, 1, 1); 384 threads.
template <uint32_t kN, uint32_t kClusterSize, uint32_t kStageCount>
struct GemmSm90 {
    static constexpr uint32_t kBM = 128, kBN = kN, kBK = 64, kCluster = kClusterSize, kStages = kStageCount;
    static constexpr uint32_t kThreads = 384, kConsumers = 2;
    static constexpr uint32_t kStageBytes = (kBM + kBN) * kBK * 2;
    static_assert(kBN / kCluster % 8 == 0, "each CTA's share of B must be whole swizzle atoms of 8 rows");

    struct Shared {
        alignas(1024) uint16_t a[kStages][kBM * kBK];
        alignas(1024) uint16_t b[kStages][kBN * kBK];
        alignas(1024) uint32_t d[kConsumers][64 * kBN / 2];  // bf16 pairs, rows packed
        isa::mbarrier::Barrier full[kStages], empty[kStages];
    };

    KG_DEVICE static void run(const GemmSm90Params& params) {
        auto& shared = isa::shared_as<Shared>();
        if (isa::thread_index() == 0) {
            for (auto& barrier : shared.full) isa::mbarrier::init(barrier, 1);
            for (auto& barrier : shared.empty) isa::mbarrier::init(barrier, kConsumers * kCluster);
            isa::fence_barrier_init();
        }
        isa::sync_cluster();
        const uint32_t warpgroup = isa::warp_index() / 4;
        if (warpgroup == 0) {
            isa::lower_registers<40>();
            load(params, shared);
        } else {
            isa::raise_registers<232>();
            multiply(params, shared, warpgroup - 1);
        }
        isa::sync_warp();     // reconverges the load warp, one lane of which loaded
        isa::sync_cluster();  // no CTA exits while a peer may still signal its barriers
    }

    KG_DEVICE static void load(const GemmSm90Params& params, Shared& shared) {
        if (isa::warp_index() != 0 || !isa::elect_one()) return;
        constexpr uint32_t kShare = kBN / kCluster;  // rows of B that this CTA loads for all
        const uint32_t rank = isa::cluster_rank();
        const auto m = static_cast<int32_t>(isa::block_index().x * kBM);
        const auto n = static_cast<int32_t>(isa::block_index().y * kBN + rank * kShare);
        for (uint32_t block = 0, stage = 0, parity = 1; block < params.k_blocks; ++block) {
            isa::mbarrier::wait(shared.empty[stage], parity);
            isa::mbarrier::arrive_expect(shared.full[stage], kStageBytes);
            const auto k = static_cast<int32_t>(block * kBK);
            isa::tma::load_tiled<2>(shared.a[stage], params.a, {{k, m}}, shared.full[stage]);
            uint16_t* b = shared.b[stage] + rank * kShare * kBK;
            if constexpr (kCluster == 1) {
                isa::tma::load_tiled<2>(b, params.b, {{k, n}}, shared.full[stage]);
            } else {
                isa::tma::load_tiled_multicast<2>(b, params.b, {{k, n}}, shared.full[stage], (1u << kCluster) - 1);
            }
            if (++stage == kStages) stage = 0, parity ^= 1;
        }
    }

    /// 64 rows of the tile: the consumer's own of A, all of B.
    KG_DEVICE static void multiply(const GemmSm90Params& params, Shared& shared, uint32_t consumer) {
        float d[kBN / 2];
        uint32_t previous = 0;
        for (uint32_t block = 0, stage = 0, parity = 0; block < params.k_blocks; ++block) {
            isa::mbarrier::wait(shared.full[stage], parity);
            isa::wgmma::pin(d);
            isa::wgmma::fence();
            const uint64_t a = tile(shared.a[stage] + consumer * 64 * kBK), b = tile(shared.b[stage]);
            KG_UNROLL
            for (uint32_t k = 0; k < kBK / 16; ++k) {  // a step of 32 bytes is 2 in the descriptor's address field
                isa::wgmma::mma<kBN, Element::BF16>(d, a + 2 * k, b + 2 * k, (block | k) != 0);
            }
            isa::wgmma::commit();
            isa::wgmma::pin(d);
            isa::wgmma::wait<1>();
            if (block > 0) release(shared, previous);
            previous = stage;
            if (++stage == kStages) stage = 0, parity ^= 1;
        }
        isa::wgmma::wait<0>();
        isa::wgmma::take(d);
        store(params, shared, consumer, d);
    }

    KG_DEVICE static uint64_t tile(const uint16_t* rows) {
        return isa::wgmma_descriptor(
            {.address = isa::shared_address(rows), .group_stride = 1024, .swizzle = isa::Swizzle::Span128});
    }

    /// Releases the stage to every CTA that writes into it.
    KG_DEVICE static void release(Shared& shared, uint32_t stage) {
        const uint32_t rank = isa::thread_index() % 128;
        if (rank < kCluster) isa::mbarrier::arrive(isa::map_to_rank(&shared.empty[stage], rank));
    }

    KG_DEVICE static void store(const GemmSm90Params& params, Shared& shared, uint32_t consumer,
                                const float (&d)[kBN / 2]) {
        const uint32_t lane = isa::lane_index();
        uint32_t* staging = shared.d[consumer];
        KG_UNROLL
        for (uint32_t i = 0; i < kBN / 2; i += 2) {  // accumulators i and i + 1 are neighbours in a row
            const uint32_t row = isa::warp_index() % 4 * 16 + lane / 4 + 8 * (i / 2 % 2), pair = 4 * (i / 4) + lane % 4;
            isa::store_shared(&staging[row * (kBN / 2) + pair], to_bfloat16x2(d[i], d[i + 1]));
        }
        isa::fence_async_shared();
        isa::sync_named(1 + consumer, 128);
        if (isa::thread_index() % 128 != 0) return;
        const auto m = static_cast<int32_t>(isa::block_index().x * kBM + consumer * 64);
        isa::tma::store_tiled<2>(params.d, {{static_cast<int32_t>(isa::block_index().y * kBN), m}}, staging);
        isa::tma::commit_stores();
        isa::tma::wait_stores_read<0>();
    }
};

}  // namespace kinetograph::conformance
