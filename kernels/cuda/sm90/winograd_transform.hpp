#pragma once

#include <kinetograph/kernels/cuda/sm90/winograd_steps.hpp>
#include <kinetograph/kernels/isa/fence.hpp>
#include <kinetograph/kernels/isa/global_memory.hpp>
#include <kinetograph/kernels/isa/packed_math.hpp>

/// The transform warps rewrite pairs of halos as operands in place. The operation is pointwise, so that it takes the
/// swizzled bytes in order, whatever pixel they belong to.
namespace kinetograph::sm90 {

template <WinogradConfig kConfig, ConvFault kFault>
class TransformRole {
  public:
    using Smem = WinogradSmem<kConfig>;
    static constexpr WinogradConfig c = kConfig;

    KG_DEVICE static void run(const WinogradParams& params, Smem& smem) {
        const ConvParams& p = params.conv;
        Ring<c.halo_stages> ring;
        for (uint32_t index = isa::block_index().x; index < tile_count<kClusterCtas>(p); index += isa::grid_size().x) {
            const FramePair& pair = params.pairs[tile_at<whole(c), kClusterCtas>(p, index).frame];
            KG_ROLLED
            for (uint32_t i = 0; i < p.channel_blocks * halo_pairs(0, pair); ++i) transform<0>(smem, ring);
            KG_ROLLED
            for (uint32_t i = 0; i < p.channel_blocks * halo_pairs(1, pair); ++i) transform<1>(smem, ring);
        }
    }

  private:
    using Chunk = isa::Words<4>;
    static constexpr uint32_t kChunks = halo_bytes(whole(c)) / sizeof(Chunk), kLanes = kTransformWarps * 32;

    template <uint32_t kPhase>
    KG_DEVICE static void transform(Smem& smem, Ring<c.halo_stages>& ring) {
        wait(smem, ring);
        const uint32_t first = ring.slot_before();
        wait(smem, ring);
        const uint32_t second = ring.slot_before();
        rewrite<kPhase>(smem.halo[first], smem.halo[second]);
        if constexpr (kFault != ConvFault::NoTransformFence) isa::fence_async_shared();
        isa::sync_warp();
        if (isa::lane_index() == 0) {
            isa::mbarrier::arrive(smem.operand_full[second]);
            isa::mbarrier::arrive(smem.operand_full[first]);
        }
        if constexpr (kPhase == 0) release(smem, kFault == ConvFault::ReleasesOperand ? second : first);
    }

    KG_DEVICE static void wait(Smem& smem, Ring<c.halo_stages>& ring) {
        if constexpr (kFault != ConvFault::NoInputWait) isa::mbarrier::wait(smem.halo_full[ring.slot], ring.parity);
        ring.advance();
    }

    /// halo_empty counts one arrival per consumer warp; for a spent frame the transform warps make as many.
    KG_DEVICE static void release(Smem& smem, uint32_t slot) {
        if (isa::lane_index() < 4 * sharers(c) / kTransformWarps) isa::mbarrier::arrive(smem.halo_empty[slot]);
    }

    template <uint32_t kPhase>
    KG_DEVICE static void rewrite(uint8_t* first, uint8_t* second) {
        KG_ROLLED
        for (uint32_t i = isa::recomputed(isa::thread_index()) % kLanes; i < kChunks; i += kLanes) {
            const Chunk a = isa::load_shared(chunk(first, i)), b = isa::load_shared(chunk(second, i));
            Chunk sum, difference;
            KG_UNROLL
            for (uint32_t word = 0; word < 4; ++word) {
                sum.at[word] = isa::add_values<c.element>(a.at[word], b.at[word]);
                difference.at[word] = kFault == ConvFault::WrongTransformSign
                                          ? isa::subtract_values<c.element>(a.at[word], b.at[word])
                                          : isa::subtract_values<c.element>(b.at[word], a.at[word]);
            }
            if constexpr (kPhase == 1) isa::store_shared(chunk(first, i), sum);
            isa::store_shared(chunk(second, i), difference);
        }
    }

    KG_DEVICE static Chunk* chunk(uint8_t* halo, uint32_t index) {
        return reinterpret_cast<Chunk*>(halo + index * sizeof(Chunk));
    }
};

}  // namespace kinetograph::sm90
