#pragma once

#include <kinetograph/kernels/cuda/sm100/conv2d_tiles.hpp>
#include <kinetograph/kernels/isa/tcgen05.hpp>

/// MMA warp: one thread of each leader multiplies full stages into tensor memory. The completion of the products frees
/// the stages and announces the accumulators, so no thread waits for them here.
namespace kinetograph::sm100 {

template <Conv2dConfig kConfig, Fault kFault>
struct MmaRole {
    using Smem = Conv2dSmem<kConfig>;
    static constexpr Conv2dConfig c = kConfig;
    static constexpr Element kTakenA = kFault == Fault::Bfloat16Products   ? Element::BF16
                                       : kFault == Fault::ExchangedFormats ? c.filter_element
                                                                           : c.element;
    static constexpr Element kTakenB = kFault == Fault::Bfloat16Products   ? Element::BF16
                                       : kFault == Fault::ExchangedFormats ? c.element
                                                                           : c.filter_element;
    static constexpr uint32_t kInstruction = isa::tcgen05_instruction(kTakenA, kTakenB, c.mma.m, c.mma.n);
    static constexpr uint32_t kSteps = c.block.k / c.mma.k;

    template <class Params>
    KG_DEVICE static void run(const Params& params, Smem& smem, uint32_t tensor) {
        const Conv2dGeometry& g = params.geometry;
        const Place<kConfig> place;
        TileWalk<kConfig, kFault> tiles(g);
        Ring<c.stages> ring{0, kFault == Fault::ConsumerStartsAtPhase1 ? 1u : 0u};
        Ring<c.accumulator_stages> accumulator{0, 1};
        do {
            if constexpr (kFault != Fault::NoDrainedWait) {
                isa::mbarrier::wait(smem.drained[accumulator.slot], accumulator.parity);
            }
            isa::tcgen05::fence_after_sync();
            const uint32_t d = tensor + accumulator.slot * accumulator_columns(c);
            uint32_t channel = 0;
            bool accumulate = false;
            for (uint32_t left = k_blocks<kConfig>(g, temporal_taps<kConfig>(g, tiles.tile())); left != 0;
                 ring.advance()) {
                const uint32_t count = left < c.k_group ? left : c.k_group;
                if constexpr (kFault != Fault::NoFullWait) isa::mbarrier::wait(smem.full[ring.slot], ring.parity);
                for (uint32_t i = 0; i < count; ++i) {
                    multiply(smem, {ring.slot, i}, d, steps_of(g, channel), accumulate);
                    accumulate = true;
                    if ((channel += c.block.k) >= g.c_in) channel = 0;
                }
                if constexpr (kFault == Fault::ReleasesWithoutCommit) {
                    isa::mbarrier::arrive(smem.empty[ring.slot]);
                } else {
                    commit(smem.empty[ring.slot], place.writers());
                }
                left -= count;
            }
            commit(smem.accumulated[accumulator.slot], place.pair());
            accumulator.advance();
        } while (tiles.next(smem));
    }

  private:
    struct Slot {
        uint32_t stage, block;
    };

    /// Steps of k that hold channels: in the last block of a tap those beyond c_in are zeros and skipped.
    KG_DEVICE static uint32_t steps_of(const Conv2dGeometry& g, uint32_t channel) {
        const uint32_t left = g.c_in - channel;
        return left >= c.block.k ? kSteps : (left + c.mma.k - 1) / c.mma.k;
    }

    KG_DEVICE static void multiply(Smem& smem, Slot slot, uint32_t d, uint32_t steps, bool accumulate) {
        const uint64_t a = operand(smem.activation[slot.stage][slot.block], c.swizzle_a);
        const uint64_t b = operand(smem.filter[slot.stage][slot.block], c.swizzle_b);
        for (uint32_t k = 0; k < steps; ++k) {
            isa::tcgen05::mma<c.cta_group, c.element>(d, a + at_step<c.swizzle_a, c.block.m>(k),
                                                      b + at_step<c.swizzle_b, c.block.n>(k), kInstruction,
                                                      accumulate || k != 0);
        }
    }

    /// Where a step of 32 bytes begins in an operand's slabs of kRows rows, as the address field counts: in 16 bytes.
    template <isa::Swizzle kSwizzle, uint32_t kRows>
    KG_DEVICE static uint32_t at_step(uint32_t step) {
        constexpr uint32_t kSpan = isa::span_bytes(kSwizzle);
        if constexpr (slabs(c, kSwizzle) == 1 || kFault == Fault::StepsOfOneSlab) return 2 * step;
        return (32 * step / kSpan * kRows * kSpan + 32 * step % kSpan) / 16;
    }

    KG_DEVICE static uint64_t operand(const uint8_t* rows, isa::Swizzle swizzle) {
        isa::OperandTile tile{
            .address = isa::shared_address(rows), .group_stride = isa::pattern_bytes(swizzle), .swizzle = swizzle};
        if constexpr (kFault == Fault::SwappedStrides) {
            tile.group_stride = tile.chunk_stride;
            tile.chunk_stride = isa::pattern_bytes(swizzle);
        }
        if constexpr (kFault == Fault::WrongSwizzleCode) {
            const uint64_t layout = 4u - static_cast<uint64_t>(swizzle);  // wgmma's
            return (isa::tcgen05_descriptor(tile) & ~(7ull << 61)) | layout << 61;
        }
        return isa::tcgen05_descriptor(tile);
    }

    KG_DEVICE static void commit(isa::mbarrier::Barrier& barrier, uint16_t ranks) {
        if constexpr (c.cluster.size() == 1) {
            isa::tcgen05::commit<1>(barrier);
        } else {
            isa::tcgen05::commit_multicast<c.cta_group>(barrier, ranks);
        }
    }
};

}  // namespace kinetograph::sm100
