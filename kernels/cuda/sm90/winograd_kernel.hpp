#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_epilogue.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_load.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_multiply.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_transform.hpp>
#include <kinetograph/kernels/isa/cluster.hpp>

/// A 3x3x3 convolution on Hopper with two thirds of its multiplications: F(2,3) along time computes two output frames
/// from four products of transformed frames and filters, in place of six; each product is a 3x3 convolution by implicit
/// GEMM as in conv_kernel.hpp. Persistent and warp-specialised; one source for the chip and for host_model.
///
/// The transform along time is pointwise: it adds or subtracts the same pixel of two frames. A transformed halo thus
/// serves all nine taps of the image, and two warps rewrite halos in place while two warpgroups multiply. Two sets of
/// accumulators suffice for the four products: winograd_steps.hpp. Lavin and Gray 2016, arXiv 1509.09308 (F(2,3)).
///
///   warp 0      halos     --> halo_full                  --> warps 2, 3, which rewrite halos as operands
///   warps 2, 3  operands  --> operand_full               --> warpgroups 1 and 2: wgmma, epilogue
///   warp 1      filters   --> filter_full, filter_empty <--> warpgroups 1 and 2 of both CTAs
///   halo_empty  to warp 0: from warps 2, 3 for a spent halo, from warpgroups 1 and 2 for an operand
namespace kinetograph::sm90 {

/// Grid: any number of CTAs up to the number of tiles, along x; kThreads threads.
template <WinogradConfig kConfig, ConvFault kFault = ConvFault::None>
struct WinogradKernel {
    static constexpr WinogradConfig c = kConfig;
    static constexpr ConvConfig kShare = share(c);
    using Smem = WinogradSmem<kConfig>;
    using Epilogue = EpilogueRole<kShare, kFault>;
    using Multiply = WinogradMultiplyRole<kConfig, kFault>;
    // Registers of a thread: 128 * 40 + 256 * 232 = 64,512 of the SM's 65,536.
    static constexpr uint32_t kLoadRegisters = 40, kConsumerRegisters = 232;
    static_assert(2 + kTransformWarps == 4, "two load warps and the transform warps are one warpgroup");

    KG_DEVICE static void run(const WinogradParams& params) {
        auto& smem = isa::shared_as<Smem>();
        if (isa::thread_index() == 0) initialise_barriers(smem);
        isa::sync_cta();
        isa::sync_cluster();
        const uint32_t warp = isa::warp_index();
        if (warp < 4) {
            isa::lower_registers<kLoadRegisters>();
            if (warp == 0 && isa::elect_one()) WinogradLoadRole<kConfig, kFault>::input(params, smem);
            if (warp == 1 && isa::elect_one()) WinogradLoadRole<kConfig, kFault>::filter(params, smem);
            if (warp >= 2) TransformRole<kConfig, kFault>::run(params, smem);
        } else {
            isa::raise_registers<kConsumerRegisters>();
            consume(params, smem, warp / 4 - 1);
        }
        isa::sync_warp();
        isa::sync_cluster();  // until here the other CTA may load into this one and release its stages
    }

  private:
    KG_DEVICE static void initialise_barriers(Smem& smem) {
        constexpr uint32_t kWarps = 4 * sharers(c);  // that consume a stage; each arrives once
        for (auto& barrier : smem.halo_full) isa::mbarrier::init(barrier, 1);
        for (auto& barrier : smem.operand_full) isa::mbarrier::init(barrier, kTransformWarps);
        for (auto& barrier : smem.halo_empty) isa::mbarrier::init(barrier, kWarps);
        for (auto& barrier : smem.filter_full) isa::mbarrier::init(barrier, 1);
        for (auto& barrier : smem.filter_empty) isa::mbarrier::init(barrier, kWarps * kClusterCtas);
        for (auto& barrier : smem.turn) isa::mbarrier::init(barrier, 4);
        for (auto& barrier : smem.staging_ready) isa::mbarrier::init(barrier, 1);
        if constexpr (kFault != ConvFault::NoBarrierInitFence) isa::fence_barrier_init();
    }

    /// One warpgroup's tiles of this CTA, or its share of all, from the first product to the last store.
    KG_DEVICE static void consume(const WinogradParams& params, Smem& smem, uint32_t consumer) {
        const ConvParams& p = params.conv;
        Multiply multiply(smem, consumer);
        Epilogue epilogue(p, smem.staging[kInTurn ? 0 : consumer_index()], smem.staging_ready[consumer], consumer);
        const uint32_t first = isa::block_index().x;
        if (Epilogue::stores() && (!kInTurn || consumer == 0) && first < tile_count<kClusterCtas>(p))
            epilogue.prepare(smem.staging_ready[consumer], share_of(p, first));
        if (kInTurn && consumer == 1) skip(params, multiply, first);
        uint32_t turn = 0, stored = 0;
        for (uint32_t index = first + (kInTurn ? consumer * isa::grid_size().x : 0);
             index < tile_count<kClusterCtas>(p); index += kStride * isa::grid_size().x, ++turn) {
            typename Multiply::Sums sums[kSums];
            const FramePair& pair = pair_of(params, index);
            multiply.run(sums, p.channel_blocks, pair, turn);
            if (kInTurn) skip(params, multiply, index + isa::grid_size().x);
            const bool alone = pair.outputs == 1;
            const auto next_tile = [&](ConvTile& next) -> isa::mbarrier::Barrier* {
                const uint32_t at = isa::recomputed(index) + isa::grid_size().x;
                if (at >= tile_count<kClusterCtas>(p)) return nullptr;
                next = share_of(p, at);
                return &smem.staging_ready[kInTurn ? consumer_index() ^ 1u : consumer_index()];
            };
            epilogue.run(sums[0], share_of(p, index), stored++, [&](ConvTile& next) -> isa::mbarrier::Barrier* {
                if (alone) return next_tile(next);
                next = second_share_of(p, isa::recomputed(index));
                return &smem.staging_ready[consumer_index()];
            });
            if (alone) continue;
            epilogue.run(sums[1], second_share_of(p, isa::recomputed(index)), stored++, next_tile);
        }
    }

    static constexpr bool kInTurn = Multiply::kInTurn;
    static constexpr uint32_t kStride = kInTurn ? kConsumers : 1;  ///< every kStride-th tile is a warpgroup's

    KG_DEVICE static const FramePair& pair_of(const WinogradParams& params, uint32_t index) {
        return params.pairs[tile_at<whole(c), kClusterCtas>(params.conv, index).frame];
    }
    KG_DEVICE static void skip(const WinogradParams& params, Multiply& multiply, uint32_t index) {
        if (index < tile_count<kClusterCtas>(params.conv))
            multiply.skip(params.conv.channel_blocks, pair_of(params, index));
    }

    /// Recomputed, because the epilogue needs all registers.
    KG_DEVICE static uint32_t consumer_index() { return isa::recomputed(isa::thread_index()) / 128 - 1; }

    KG_DEVICE static ConvTile second_share_of(const ConvParams& p, uint32_t index) {
        ConvTile tile = share_of(p, index);
        ++tile.frame;
        return tile;
    }
    /// This warpgroup's share of a tile, in the first frame of its pair.
    KG_DEVICE static ConvTile share_of(const ConvParams& p, uint32_t index) {
        ConvTile tile = tile_at<whole(c), kClusterCtas>(p, index);
        tile.frame *= 2;
        constexpr uint32_t kRows = rows_between(c), kColumns = columns_between(c);
        if constexpr (kRows > 0) tile.y += static_cast<int32_t>(consumer_index() * kRows);
        if constexpr (kColumns > 0) tile.x += static_cast<int32_t>(consumer_index() * kColumns);
        return tile;
    }
};

}  // namespace kinetograph::sm90
