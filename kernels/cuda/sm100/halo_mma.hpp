#pragma once

#include <kinetograph/kernels/cuda/sm100/halo_tiles.hpp>
#include <kinetograph/kernels/isa/tcgen05.hpp>

/// MMA warp: one thread of the pair multiplies halos by filters into tensor memory. Tap (r, s) reads the
/// halo from pixel r * pitch + s on, by its matrix descriptor; groups of 8 pixels are one pitch apart.
namespace kinetograph::sm100 {

template <HaloConfig kConfig, HaloFault kFault>
struct HaloMmaRole {
    using Smem = HaloSmem<kConfig>;
    static constexpr HaloConfig c = kConfig;
    static constexpr Element kElement = kFault == HaloFault::Bfloat16Products ? Element::BF16 : c.element;
    static constexpr uint32_t kInstruction =
        isa::tcgen05_instruction(kElement, kElement, c.cta_group* kHaloBlockPixels, c.bn);
    static constexpr uint32_t kRow = row_bytes(c), kPitch = halo_columns(c);
    static constexpr uint16_t kAll = (1u << c.cluster) - 1;

    KG_DEVICE static void run(const HaloParams& params, Smem& smem, uint32_t tensor) {
        const sm90::ConvParams& p = params.conv;
        const auto pair = static_cast<uint16_t>(((1u << c.cta_group) - 1) << HaloWalk<kConfig>::leader());
        const uint16_t loads_halo = c.sharing == HaloSharing::Pixels ? kAll : pair;
        const uint16_t loads_filters = c.sharing == HaloSharing::Filters ? kAll : pair;
        Ring<c.input_stages> input;
        Ring<c.filter_stages> filter;
        Ring<kHaloSumStages> sums{0, 1};
        for (HaloWalk<kConfig> walk(p); walk.more(); walk.advance(), sums.advance()) {
            if constexpr (kFault != HaloFault::NoDrainedWait) isa::mbarrier::wait(smem.drained[sums.slot], sums.parity);
            isa::tcgen05::fence_after_sync();
            const uint32_t d = tensor + sums.slot * c.blocks * block_columns(c);
            const uint32_t blocks = p.taps[walk.tile().frame].count * p.channel_blocks;
            for (uint32_t block = 0; block < blocks; ++block, input.advance()) {
                if constexpr (kFault != HaloFault::NoInputWait)
                    isa::mbarrier::wait(smem.input_full[input.slot], input.parity);
                const uint32_t halo = isa::shared_address(smem.input[input.slot]);
                for (uint32_t group = 0; group < tap_groups(c); ++group, filter.advance()) {
                    if constexpr (kFault != HaloFault::NoFilterWait)
                        isa::mbarrier::wait(smem.filter_full[filter.slot], filter.parity);
                    multiply_stage(d, halo, isa::shared_address(smem.filter[filter.slot]), group,
                                   block != 0 || group != 0);
                    commit(smem.filter_empty[filter.slot], loads_filters);
                    if (kFault == HaloFault::ReleasesHaloEarly && group == 0)
                        commit(smem.input_empty[input.slot], loads_halo);
                }
                if constexpr (kFault != HaloFault::ReleasesHaloEarly) commit(smem.input_empty[input.slot], loads_halo);
            }
            commit(smem.accumulated[sums.slot], pair);
        }
    }

  private:
    /// All taps of a stage, for every block of pixels.
    KG_DEVICE static void multiply_stage(uint32_t d, uint32_t halo, uint32_t filters, uint32_t group, bool accumulate) {
        constexpr uint32_t kShift = kFault == HaloFault::RowShiftOffByOne ? 1u : 0u;
        constexpr uint32_t kGroup = kFault == HaloFault::WrongPitch ? 8 * kRow : kPitch * kRow;
        constexpr uint32_t kStep = kFault == HaloFault::RowsOfHalfABlock ? kRow / 2 : kRow;
        for (uint32_t tap = 0; tap < c.stage_taps; ++tap) {
            const uint32_t at = group * c.stage_taps + tap, r = at / c.side, s = at % c.side;
            for (uint32_t block = 0; block < c.blocks; ++block) {
                const uint32_t first = (block * kHaloBlockRows + r) * kPitch + s + kShift;
                const uint64_t a = isa::tcgen05_descriptor(
                    {.address = halo + first * kStep, .group_stride = kGroup, .swizzle = swizzle(c)});
                const uint64_t b = isa::tcgen05_descriptor({.address = filters + tap * cta_filters(c) * kRow,
                                                            .group_stride = 8 * kRow,
                                                            .swizzle = swizzle(c)});
                KG_UNROLL
                for (uint32_t k = 0; k < c.channels / 16; ++k) {  // 32 bytes are 2 in the descriptor's address field
                    isa::tcgen05::mma<c.cta_group, c.element>(d + block * block_columns(c), a + 2 * k, b + 2 * k,
                                                              kInstruction, accumulate || tap != 0 || k != 0);
                }
            }
        }
    }

    KG_DEVICE static void commit(isa::mbarrier::Barrier& barrier, uint16_t ranks) {
        if constexpr (c.cta_group == 1) {
            isa::tcgen05::commit<1>(barrier);
        } else {
            isa::tcgen05::commit_multicast<2>(barrier, ranks);
        }
    }
};

}  // namespace kinetograph::sm100
