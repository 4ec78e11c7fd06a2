#pragma once

#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/fence.hpp>
#include <kinetograph/kernels/isa/tcgen05.hpp>
#include <kinetograph/kernels/isa/thread.hpp>
#include <kinetograph/kernels/isa/tma.hpp>

#include "bfloat16.hpp"

/// D[M, N] = A[M, K] * B[N, K]^T in bf16 on tcgen05, alone or as a pair of CTAs: TMA ring, one issuing thread, two
/// accumulators in tensor memory, four epilogue warps. Persistent over tiles. One source for chip and host.
namespace kinetograph::conformance {

struct GemmSm100Params {
    isa::TensorMap a;                   ///< {K, M}, box {64, 128}, 128B swizzle
    isa::TensorMap b;                   ///< {K, N}, box {64, 64 / kGroup}, 128B swizzle
    isa::TensorMap d;                   ///< {N, M}, box {64, 32}, 128B swizzle
    uint32_t k_blocks, m_tiles, tiles;  ///< a tile is kGroup * 128 rows by 64 columns, rows fastest
};

/// Grid: any number of groups of kGroup CTAs; cluster (kGroup, 1, 1); 192 threads.
template <int kGroup>
struct GemmSm100 {
    static constexpr uint32_t kBM = 128, kBN = 64, kBK = 64, kStages = 3, kAccumulators = 2, kThreads = 192;
    static constexpr uint32_t kShare = kBN / kGroup;  // rows of B in each CTA
    static constexpr uint32_t kStageBytes = (kBM + kShare) * kBK * 2;
    static constexpr uint32_t kColumns = kAccumulators * kBN;
    static constexpr uint32_t kLoadWarp = 4, kMmaWarp = 5;

    struct Shared {
        alignas(1024) uint16_t a[kStages][kBM * kBK];
        alignas(1024) uint16_t b[kStages][kShare * kBK];
        alignas(1024) uint8_t d[4][32 * 128];  // of each epilogue warp: 32 rows of 64 bf16, swizzled
        isa::mbarrier::Barrier full[kStages], empty[kStages];
        isa::mbarrier::Barrier accumulated[kAccumulators], drained[kAccumulators];
        uint32_t columns;
    };

    /// A position in a ring of `kSlots` slots and the parity to wait for there.
    template <uint32_t kSlots>
    struct Ring {
        uint32_t slot, parity;
        KG_DEVICE void advance() {
            if (++slot == kSlots) slot = 0, parity ^= 1;
        }
    };

    KG_DEVICE static void run(const GemmSm100Params& params) {
        auto& shared = isa::shared_as<Shared>();
        if (isa::thread_index() == 0) {
            for (auto& barrier : shared.full) isa::mbarrier::init(barrier, 1);
            for (auto& barrier : shared.empty) isa::mbarrier::init(barrier, 1);
            for (auto& barrier : shared.accumulated) isa::mbarrier::init(barrier, 1);
            for (auto& barrier : shared.drained) isa::mbarrier::init(barrier, kGroup * 128);
            isa::fence_barrier_init();
        }
        if (isa::warp_index() == kMmaWarp) isa::tcgen05::alloc<kGroup>(&shared.columns, kColumns);
        isa::tcgen05::fence_before_sync();
        isa::sync_cluster();
        isa::tcgen05::fence_after_sync();
        const uint32_t columns = isa::load_shared(&shared.columns);
        if (isa::warp_index() == kLoadWarp) {
            if (isa::elect_one()) load(params, shared);
        } else if (isa::warp_index() == kMmaWarp) {
            if (isa::cluster_rank() % kGroup == 0 && isa::elect_one()) multiply(params, shared, columns);
        } else {
            store_tiles(params, shared, columns);
        }
        isa::sync_warp();
        isa::tcgen05::fence_before_sync();
        isa::sync_cluster();  // every load of tensor memory is over, and no peer still signals a barrier here
        if (isa::warp_index() != kMmaWarp) return;
        isa::tcgen05::fence_after_sync();
        isa::tcgen05::relinquish<kGroup>();
        isa::tcgen05::dealloc<kGroup>(columns, kColumns);
    }

    KG_DEVICE static uint32_t first_tile() { return isa::block_index().x / kGroup; }
    KG_DEVICE static uint32_t tile_step() { return isa::grid_size().x / kGroup; }

    KG_DEVICE static void load(const GemmSm100Params& params, Shared& shared) {
        Ring<kStages> ring{0, 1};
        const uint32_t rank = isa::cluster_rank();
        for (uint32_t tile = first_tile(); tile < params.tiles; tile += tile_step()) {
            const auto m = static_cast<int32_t>((tile % params.m_tiles * kGroup + rank) * kBM);
            const auto n = static_cast<int32_t>(tile / params.m_tiles * kBN + rank * kShare);
            for (uint32_t block = 0; block < params.k_blocks; ++block, ring.advance()) {
                isa::mbarrier::wait(shared.empty[ring.slot], ring.parity);
                auto& full = shared.full[ring.slot];
                if (rank == 0) isa::mbarrier::arrive_expect(full, kGroup * kStageBytes);
                const auto k = static_cast<int32_t>(block * kBK);
                if constexpr (kGroup == 1) {
                    isa::tma::load_tiled<2>(shared.a[ring.slot], params.a, {{k, m}}, full);
                    isa::tma::load_tiled<2>(shared.b[ring.slot], params.b, {{k, n}}, full);
                } else {
                    isa::tma::load_tiled_pair<2>(shared.a[ring.slot], params.a, {{k, m}}, full);
                    isa::tma::load_tiled_pair<2>(shared.b[ring.slot], params.b, {{k, n}}, full);
                }
            }
        }
        // The pair's commits arrive here until the last stage is free; no CTA exits before.
        for (uint32_t stage = 0; stage < kStages; ++stage, ring.advance())
            isa::mbarrier::wait(shared.empty[ring.slot], ring.parity);
    }

    KG_DEVICE static void multiply(const GemmSm100Params& params, Shared& shared, uint32_t columns) {
        constexpr uint32_t kInstruction = isa::tcgen05_instruction(Element::BF16, Element::BF16, kGroup * kBM, kBN);
        Ring<kStages> ring{0, 0};
        Ring<kAccumulators> accumulator{0, 1};
        for (uint32_t tile = first_tile(); tile < params.tiles; tile += tile_step(), accumulator.advance()) {
            isa::mbarrier::wait(shared.drained[accumulator.slot], accumulator.parity);
            isa::tcgen05::fence_after_sync();
            const uint32_t d = columns + accumulator.slot * kBN;
            for (uint32_t block = 0; block < params.k_blocks; ++block, ring.advance()) {
                isa::mbarrier::wait(shared.full[ring.slot], ring.parity);
                const uint64_t a = operand(shared.a[ring.slot]), b = operand(shared.b[ring.slot]);
                for (uint32_t k = 0; k < kBK / 16; ++k) {  // a step of 32 bytes is 2 in the descriptor's address field
                    isa::tcgen05::mma<kGroup, Element::BF16>(d, a + 2 * k, b + 2 * k, kInstruction, (block | k) != 0);
                }
                commit(shared.empty[ring.slot]);
            }
            commit(shared.accumulated[accumulator.slot]);
        }
    }

    KG_DEVICE static uint64_t operand(const uint16_t* rows) {
        return isa::tcgen05_descriptor(
            {.address = isa::shared_address(rows), .group_stride = 1024, .swizzle = isa::Swizzle::Span128});
    }

    KG_DEVICE static void commit(isa::mbarrier::Barrier& barrier) {
        if constexpr (kGroup == 1) {
            isa::tcgen05::commit<1>(barrier);
        } else {
            isa::tcgen05::commit_multicast<2>(barrier, 3);
        }
    }

    KG_DEVICE static void store_tiles(const GemmSm100Params& params, Shared& shared, uint32_t columns) {
        Ring<kAccumulators> accumulator{0, 0};
        const uint32_t warp = isa::warp_index(), lane = isa::lane_index();
        uint8_t* staging = shared.d[warp];
        for (uint32_t tile = first_tile(); tile < params.tiles; tile += tile_step(), accumulator.advance()) {
            isa::mbarrier::wait(shared.accumulated[accumulator.slot], accumulator.parity);
            isa::tcgen05::fence_after_sync();
            uint32_t row[kBN];  // this lane's row of the tile
            isa::tcgen05::read(row, (warp * 32 << 16) | (columns + accumulator.slot * kBN));
            isa::tcgen05::fence_before_sync();
            isa::mbarrier::arrive(isa::map_to_rank(&shared.drained[accumulator.slot], 0));
            if (lane == 0) isa::tma::wait_stores_read<0>();
            isa::sync_warp();
            KG_UNROLL
            for (uint32_t i = 0; i < kBN; i += 2) {
                const uint32_t place = isa::swizzled(isa::Swizzle::Span128, lane * 128 + i * 2);
                isa::store_shared(reinterpret_cast<uint32_t*>(staging + place),
                                  to_bfloat16x2(value(row[i]), value(row[i + 1])));
            }
            isa::fence_async_shared();
            isa::sync_warp();
            if (lane != 0) continue;
            const uint32_t m = (tile % params.m_tiles * kGroup + isa::cluster_rank()) * kBM + warp * 32;
            isa::tma::store_tiled<2>(
                params.d, {{static_cast<int32_t>(tile / params.m_tiles * kBN), static_cast<int32_t>(m)}}, staging);
            isa::tma::commit_stores();
        }
        if (lane == 0) isa::tma::wait_stores_read<0>();
    }

    KG_DEVICE static float value(uint32_t bits) {
        float result = 0;
        memcpy(&result, &bits, sizeof(result));
        return result;
    }
};

}  // namespace kinetograph::conformance
