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

    /// The last two warps of the first warpgroup and, where there are five, the last three of the last.
    KG_DEVICE static bool is(uint32_t warp) {
        return warp == 2 || warp == 3 || (warp >= 13 && transform_warps(c) == 5);
    }

    KG_DEVICE static void run(const WinogradParams& params, Smem& smem) {
        const ConvParams& p = params.conv;
        SlotParities full{0};
        for (uint32_t index = isa::block_index().x; index < tile_count<kClusterCtas>(p); index += isa::grid_size().x) {
            const uint32_t outputs = params.pairs[tile_at<whole(c), kClusterCtas>(p, index).frame].outputs;
            if constexpr (keeps(c)) {
                KG_ROLLED
                for (uint32_t block = 0; block < p.channel_blocks; ++block)
                    of_both_phases(smem, full, block, isa::recomputed(outputs));  // slots of it would take registers
            } else {
                KG_ROLLED
                for (uint32_t block = 0; block < p.channel_blocks; ++block) of_phase_0(smem, full, block);
                KG_ROLLED
                for (uint32_t n = 0; n < outputs * p.channel_blocks; ++n) of_phase_1(smem, full, n);
            }
        }
    }

  private:
    using Chunk = isa::Words<4>;
    static constexpr uint32_t kChunks = halo_bytes(whole(c)) / sizeof(Chunk), kLanes = transform_warps(c) * 32;

    /// Of the transform's.
    KG_DEVICE static uint32_t lane() {
        const uint32_t thread = isa::recomputed(isa::thread_index());
        return thread - (thread < 128 ? 64 : 13 * 32 - 64);
    }

    /// A block's operands where they are kept.
    KG_DEVICE static void of_both_phases(Smem& smem, SlotParities& full, uint32_t block, uint32_t outputs) {
        const bool pair = outputs == 2;
        const uint32_t d0 = wait(smem, full, operand_slot<kConfig>(1, outputs * block));
        const uint32_t d1 = wait(smem, full, operand_slot<kConfig>(0, kSums * block));
        const uint32_t d3 = pair ? wait(smem, full, d0 + 1) : d0;  // read in either case: four loads in flight
        const uint32_t d2 = wait(smem, full, d1 + 1);
        KG_ROLLED
        for (uint32_t i = lane(); i < kChunks; i += kLanes) {
            const Chunk a = read(smem, d0, i), b = read(smem, d1, i), e = read(smem, d2, i), f = read(smem, d3, i);
            write(smem, d0, i, difference(a, e));
            if (pair) write(smem, d3, i, difference(f, b));
            write(smem, d1, i, sum(b, e));
            write(smem, d2, i, difference(e, b));
        }
        const uint32_t slots[] = {d1, d2, d0, d3};
        publish(smem, slots, pair ? 4 : 3);
    }

    /// The n-th of a tile.
    KG_DEVICE static void of_phase_1(Smem& smem, SlotParities& full, uint32_t n) {
        const uint32_t spent = wait(smem, full, 0), operand = wait(smem, full, operand_slot<kConfig>(1, n));
        KG_ROLLED
        for (uint32_t i = lane(); i < kChunks; i += kLanes)
            write(smem, operand, i, difference(read(smem, operand, i), read(smem, spent, i)));
        const uint32_t slots[] = {operand};
        publish(smem, slots, 1);
        // halo_empty counts one arrival per consumer warp; for a spent frame the transform warps make as many.
        const uint32_t released = kFault == ConvFault::ReleasesOperand ? operand : spent;
        if (isa::lane_index() < 4 * sharers(c) / transform_warps(c)) isa::mbarrier::arrive(smem.halo_empty[released]);
    }

    KG_DEVICE static void of_phase_0(Smem& smem, SlotParities& full, uint32_t block) {
        const uint32_t d1 = wait(smem, full, operand_slot<kConfig>(0, kSums * block));
        const uint32_t d2 = wait(smem, full, d1 + 1);
        KG_ROLLED
        for (uint32_t i = lane(); i < kChunks; i += kLanes) {
            const Chunk a = read(smem, d1, i), b = read(smem, d2, i);
            write(smem, d1, i, sum(a, b));
            write(smem, d2, i, difference(b, a));
        }
        const uint32_t slots[] = {d1, d2};
        publish(smem, slots, 2);
    }

    /// The slot, whose halo has arrived.
    KG_DEVICE static uint32_t wait(Smem& smem, SlotParities& full, uint32_t slot) {
        const uint32_t parity = full.take(slot);
        if constexpr (kFault != ConvFault::NoInputWait) isa::mbarrier::wait(smem.halo_full[slot], parity);
        return slot;
    }

    /// Hands operands to the consumers.
    template <uint32_t kCount>
    KG_DEVICE static void publish(Smem& smem, const uint32_t (&slots)[kCount], uint32_t count) {
        if constexpr (kFault != ConvFault::NoTransformFence) isa::fence_async_shared();
        isa::sync_warp();
        if (isa::lane_index() != 0) return;
        KG_UNROLL
        for (uint32_t i = 0; i < kCount; ++i)
            if (i < count) isa::mbarrier::arrive(smem.operand_full[slots[i]]);
    }

    KG_DEVICE static Chunk* chunk(Smem& smem, uint32_t slot, uint32_t index) {
        return reinterpret_cast<Chunk*>(smem.halo[slot] + index * sizeof(Chunk));
    }
    KG_DEVICE static Chunk read(Smem& smem, uint32_t slot, uint32_t index) {
        return isa::load_shared(chunk(smem, slot, index));
    }
    KG_DEVICE static void write(Smem& smem, uint32_t slot, uint32_t index, const Chunk& value) {
        isa::store_shared(chunk(smem, slot, index), value);
    }
    KG_DEVICE static Chunk sum(const Chunk& a, const Chunk& b) {
        Chunk result;
        KG_UNROLL
        for (uint32_t i = 0; i < 4; ++i) result.at[i] = isa::add_values<c.element>(a.at[i], b.at[i]);
        return result;
    }
    KG_DEVICE static Chunk difference(const Chunk& a, const Chunk& b) {
        constexpr bool kWrong = kFault == ConvFault::WrongTransformSign;
        Chunk result;
        KG_UNROLL
        for (uint32_t i = 0; i < 4; ++i)
            result.at[i] = isa::subtract_values<c.element>(kWrong ? b.at[i] : a.at[i], kWrong ? a.at[i] : b.at[i]);
        return result;
    }
};

}  // namespace kinetograph::sm90
