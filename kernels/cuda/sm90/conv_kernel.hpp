#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_epilogue.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_load.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_starts.hpp>

/// The implicit-GEMM forward convolution on Hopper: D[pixels, c_out] = A[pixels, taps * c_in] * B[c_out, taps *
/// c_in]^T, A never stored. Persistent and warp-specialised; one source for the chip and for host_model.
///
/// For each block of K, TMA loads a tile's pixels with their halo once for all taps of the image: tap (r, s) is the
/// same shared memory read r rows and s pixels later, by its matrix descriptor. Two consumer warpgroups take tiles in
/// turn: one's epilogue overlaps the other's products. Chetlur et al. 2014, arXiv 1410.0759; PTX ISA, wgmma, Strides.
///
///   warp 0  halos    --> input_full, input_empty   <--> warpgroups 1 and 2: wgmma, epilogue
///   warp 1  filters  --> filter_full, filter_empty <--> (turn: whose main loop; staging_ready: whose epilogue)
namespace kinetograph::sm90 {

/// Grid: any number of CTAs up to the number of tiles, along x; kThreads threads.
template <ConvConfig kConfig, ConvFault kFault = ConvFault::None>
struct ConvKernel {
    static constexpr ConvConfig c = kConfig;
    using Smem = ConvSmem<kConfig>;
    using Epilogue = EpilogueRole<kConfig, kFault>;
    // Registers of a thread: 128 * 40 + 256 * 232 or 128 * 24 + 256 * 240 = 64,512 of the SM's 65,536. The most with
    // 96 filters of bytes alone: with 192 ptxas spills more then.
    static constexpr bool kMostForConsumers = multiplies_bytes(c) && c.bn == 96;
    static constexpr uint32_t kLoadRegisters = kMostForConsumers ? 24 : 40;
    static constexpr uint32_t kConsumerRegisters = kMostForConsumers ? 240 : 232;

    KG_DEVICE static void run(const ConvParams& params) {
        auto& smem = isa::shared_as<Smem>();
        if (isa::thread_index() == 0) initialise_barriers(smem);
        isa::sync_cta();
        const uint32_t warp = isa::warp_index();
        if (warp < 4) {
            isa::lower_registers<kLoadRegisters>();
            if (warp == 0 && isa::elect_one()) LoadRole<kConfig, kFault>::input(params, smem);
            if (warp == 1 && isa::elect_one()) LoadRole<kConfig, kFault>::filter(params, smem);
        } else {
            isa::raise_registers<kConsumerRegisters>();
            consume(params, smem, warp / 4 - 1);
        }
    }

  private:
    KG_DEVICE static void initialise_barriers(Smem& smem) {
        constexpr uint32_t kWarps = 4;  // per warpgroup; each arrives once
        for (auto& barrier : smem.input_full) isa::mbarrier::init(barrier, 1);
        for (auto& barrier : smem.input_empty) isa::mbarrier::init(barrier, kWarps);
        for (auto& barrier : smem.filter_full) isa::mbarrier::init(barrier, 1);
        for (auto& barrier : smem.filter_empty) isa::mbarrier::init(barrier, kWarps);
        for (auto& barrier : smem.turn) isa::mbarrier::init(barrier, kWarps);
        for (auto& barrier : smem.staging_ready) isa::mbarrier::init(barrier, 1);
        if constexpr (kFault != ConvFault::NoBarrierInitFence) isa::fence_barrier_init();
    }

    /// Every second tile of this CTA, from its first product to its last store.
    KG_DEVICE static void consume(const ConvParams& params, Smem& smem, uint32_t consumer) {
        const uint32_t tiles = tile_count(params), step = isa::grid_size().x, first = isa::block_index().x;
        MultiplyRole<kConfig, kFault> multiply(smem, consumer);
        Epilogue epilogue(params, smem.staging[kOverlap ? consumer : 0], smem.staging_ready[consumer], consumer);
        const uint32_t first_mine = first + consumer * step;
        if ((kOverlap || consumer == 0) && Epilogue::stores() && first_mine < tiles)
            epilogue.prepare(smem.staging_ready[consumer], tile_at<kConfig>(params, first_mine));
        if (consumer == 1 && first < tiles) multiply.skip(k_blocks(params, tile_at<kConfig>(params, first)));
        uint32_t turn = 0;
        for (uint32_t index = first_mine; index < tiles; index += 2 * step, ++turn) {
            const ConvTile tile = tile_at<kConfig>(params, index);
            const uint32_t next = index + step;
            Accumulators<kConfig> sums;
            if constexpr (multiplies_bytes(c)) SumStarts<kConfig>::set(params, tile, sums);
            multiply.run(sums, k_blocks(params, tile), turn);
            if (next < tiles) multiply.skip(k_blocks(params, tile_at<kConfig>(params, next)));
            epilogue.run(sums, tile, turn, [&](ConvTile& stored_next) -> isa::mbarrier::Barrier* {
                const uint32_t at = isa::recomputed(next) + (kOverlap ? step : 0);
                if (at >= tiles) return nullptr;
                stored_next = tile_at<kConfig>(params, at);
                return &smem.staging_ready[next_consumer()];
            });
        }
    }

    static constexpr bool kOverlap = c.epilogues == Epilogues::Overlap;

    /// The warpgroup that uses this one's staging buffers next; recomputed, because the epilogue needs all registers.
    KG_DEVICE static uint32_t next_consumer() {
        const uint32_t warpgroup = isa::recomputed(isa::thread_index()) / 128;
        return kOverlap ? warpgroup - 1 : kConsumers - warpgroup;
    }
};

}  // namespace kinetograph::sm90
