#pragma once

#include <kinetograph/kernels/cuda/sm90/winograd_finish.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_load.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_multiply.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_store.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_transform.hpp>
#include <kinetograph/kernels/isa/barrier.hpp>
#include <kinetograph/kernels/isa/cluster.hpp>

/// A 3x3x3 convolution on Hopper with two thirds of its multiplications: F(2,3) along time computes two output frames
/// from four products of transformed frames and filters, in place of six; each product is a 3x3 convolution by implicit
/// GEMM as in conv_kernel.hpp. Persistent and warp-specialised; one source for the chip and for host_model.
///
/// The transform along time is pointwise: it adds or subtracts the same pixel of two frames. A transformed halo thus
/// serves all nine taps of the image, and a few warps rewrite halos in place while two warpgroups multiply. Two sets of
/// accumulators suffice for the four products: winograd_steps.hpp. Lavin and Gray 2016, arXiv 1509.09308 (F(2,3)).
///
///   warp 0           halos     --> halo_full                  --> transform warps, which rewrite halos as operands
///   transform warps  operands  --> operand_full               --> warpgroups 1 and 2: wgmma, epilogue
///   warp 1           filters   --> filter_full, filter_empty <--> warpgroups 1 and 2 of both CTAs
///   halo_empty       to warp 0: from transform warps for a spent halo, from warpgroups 1 and 2 for an operand
///   warps 12 to 15   staging_ready --> warpgroups 1 and 2, whose results they finish (winograd_finish.hpp) or warp 12
///                    stores (winograd_store.hpp) <-- staged
///
/// Transform warps are 2 and 3 and, where warpgroups take turns, 13 to 15.
namespace kinetograph::sm90 {

/// Grid: any number of CTAs up to the number of tiles, along x; kWinogradThreads threads.
template <WinogradConfig kConfig, ConvFault kFault = ConvFault::None>
struct WinogradKernel {
    static constexpr WinogradConfig c = kConfig;
    static constexpr ConvConfig kShare = share(c);
    using Smem = WinogradSmem<kConfig>;
    using Epilogue = EpilogueSteps<kShare, kFault>;
    using Multiply = WinogradMultiplyRole<kConfig, kFault>;
    static constexpr bool kTogether = c.consumers == Consumers::Together;
    // Registers of a thread: 256 * 32 + 256 * 224 = 65,536, all that an SM has.
    static constexpr uint32_t kHelperRegisters = 32, kConsumerRegisters = 224;

    KG_DEVICE static void run(const WinogradParams& params) {
        auto& smem = isa::shared_as<Smem>();
        if (isa::thread_index() == 0) initialise_barriers(smem);
        isa::sync_cta();
        isa::sync_cluster();
        const uint32_t warp = isa::warp_index(), warpgroup = warp / 4;
        if (warpgroup == 1 || warpgroup == 2) {
            isa::raise_registers<kConsumerRegisters>();
            if constexpr (kTogether) {
                consume_together(params, smem, warpgroup - 1);
            } else {
                consume_in_turn(params, smem, warpgroup - 1);
            }
        } else {
            isa::lower_registers<kHelperRegisters>();
            help(params, smem, warp);
        }
        isa::sync_warp();
        isa::sync_cluster();  // until here the other CTA may load into this one and release its stages
    }

  private:
    KG_DEVICE static void initialise_barriers(Smem& smem) {
        constexpr uint32_t kWarps = 4 * sharers(c);  // that consume a stage; each arrives once
        for (auto& barrier : smem.halo_full) isa::mbarrier::init(barrier, 1);
        for (auto& barrier : smem.operand_full) isa::mbarrier::init(barrier, transform_warps(c));
        for (auto& barrier : smem.halo_empty) isa::mbarrier::init(barrier, kWarps);
        for (auto& barrier : smem.filter_full) isa::mbarrier::init(barrier, 1);
        for (auto& barrier : smem.filter_empty) isa::mbarrier::init(barrier, kWarps * kClusterCtas);
        for (auto& barrier : smem.turn) isa::mbarrier::init(barrier, 4);
        for (auto& barriers : smem.staging_ready)
            for (auto& barrier : barriers) isa::mbarrier::init(barrier, 1);
        for (auto& barriers : smem.staged)
            for (auto& barrier : barriers) isa::mbarrier::init(barrier, 4);
        if constexpr (kFault != ConvFault::NoBarrierInitFence) isa::fence_barrier_init();
    }

    KG_DEVICE static void help(const WinogradParams& params, Smem& smem, uint32_t warp) {
        if (warp == 0 && isa::elect_one()) WinogradLoadRole<kConfig, kFault>::input(params, smem);
        if (warp == 1 && isa::elect_one()) WinogradLoadRole<kConfig, kFault>::filter(params, smem);
        if (TransformRole<kConfig, kFault>::is(warp)) TransformRole<kConfig, kFault>::run(params, smem);
        if constexpr (kTogether) {
            if (warp >= 12) FinishRole<kConfig, kFault>::run(params, smem);
        } else {
            if (warp == 12 && isa::elect_one()) StoreRole<kConfig, kFault>::run(params, smem);
        }
    }

    /// What a warpgroup waits for before it uses a staging buffer, and where its warps arrive after that.
    struct Staging {
        uint32_t buffer;
        isa::mbarrier::Barrier* ready;
        uint32_t parity;
        isa::mbarrier::Barrier* staged;
    };

    /// Every second tile of this CTA, from its first product to its last result.
    KG_DEVICE static void consume_in_turn(const WinogradParams& params, Smem& smem, uint32_t consumer) {
        const ConvParams& p = params.conv;
        const uint32_t first = isa::block_index().x;
        Multiply multiply(smem, consumer);
        Ring<staging_buffers(c)> ring;
        SlotParities ready{0};
        const auto skip = [&](uint32_t index) {
            if (index >= tile_count<kClusterCtas>(p)) return;
            const FramePair& pair = pair_of(params, index);
            multiply.skip(p.channel_blocks, pair);
            ring.advance(staging_uses<kConfig>(p, pair.outputs));
        };
        if (consumer == 1) skip(first);
        uint32_t turn = 0;
        for (uint32_t index = first + consumer * isa::grid_size().x; index < tile_count<kClusterCtas>(p);
             index += kConsumers * isa::grid_size().x, ++turn) {
            typename Multiply::Sums sums[kSums];
            const FramePair& pair = pair_of(params, index);
            multiply.run(sums, p.channel_blocks, pair, turn);
            Epilogue epilogue(p, smem.staging);
            const auto next = [&]() -> Staging {
                const uint32_t buffer = ring.slot, w = consumer_index();
                ring.advance();
                return {buffer, &smem.staging_ready[w][buffer], ready.take(buffer), &smem.staged[w][buffer]};
            };
            // One copy of the epilogue for both frames: with two, warps wait for instructions.
            KG_ROLLED
            for (uint32_t frame = 0; frame < pair.outputs; ++frame) {
                KG_UNROLL
                for (uint32_t block = 0; block < blocks(kShare); ++block) {
                    if (frame == 1) move(sums[0][block], sums[1][block]);
                    epilogue.hand_over(sums[0][block], first_filter(p, index), true, block, next);
                }
            }
            skip(index + isa::grid_size().x);
        }
    }

    /// This warpgroup's share of all tiles, up to the rounded results.
    KG_DEVICE static void consume_together(const WinogradParams& params, Smem& smem, uint32_t consumer) {
        const ConvParams& p = params.conv;
        Multiply multiply(smem, consumer);
        SlotParities ready{0};
        for (uint32_t index = isa::block_index().x; index < tile_count<kClusterCtas>(p); index += isa::grid_size().x) {
            typename Multiply::Sums sums[kSums];
            const FramePair& pair = pair_of(params, index);
            multiply.run(sums, p.channel_blocks, pair, 0);
            Epilogue epilogue(p, smem.staging);
            KG_UNROLL
            for (uint32_t frame = 0; frame < kSums; ++frame) {
                if (frame >= pair.outputs) continue;
                epilogue.hand_over(sums[frame][0], first_filter(p, index), false, frame, [&]() -> Staging {
                    const uint32_t w = consumer_index(), buffer = w * kSums + frame;
                    return {buffer, &smem.staging_ready[w][buffer], ready.take(buffer), &smem.staged[w][buffer]};
                });
            }
        }
    }

    KG_DEVICE static void move(float (&to)[c.bn / 2], const float (&from)[c.bn / 2]) {
        KG_UNROLL
        for (uint32_t i = 0; i < c.bn / 2; ++i) to[i] = from[i];
    }

    /// Recomputed, because the epilogue needs all registers, and without a division where one tile has all filters.
    KG_DEVICE static uint32_t first_filter(const ConvParams& p, uint32_t index) {
        return p.tiles_n == 1 ? 0 : filter_tile<kClusterCtas>(p, isa::recomputed(index)) * c.bn;
    }
    KG_DEVICE static const FramePair& pair_of(const WinogradParams& params, uint32_t index) {
        return params.pairs[tile_at<whole(c), kClusterCtas>(params.conv, index).frame];
    }
    /// Recomputed, because the epilogue needs all registers.
    KG_DEVICE static uint32_t consumer_index() { return isa::recomputed(isa::thread_index()) / 128 - 1; }
};

}  // namespace kinetograph::sm90
