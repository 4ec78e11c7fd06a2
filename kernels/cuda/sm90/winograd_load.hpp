#pragma once

#include <kinetograph/kernels/cuda/sm90/winograd_steps.hpp>
#include <kinetograph/kernels/isa/tma.hpp>

/// The two load warps, one thread each: halos of the input frames, and filters.
namespace kinetograph::sm90 {

template <WinogradConfig kConfig, ConvFault kFault>
struct WinogradLoadRole {
    using Smem = WinogradSmem<kConfig>;
    static constexpr WinogradConfig c = kConfig;
    static constexpr ConvConfig kWhole = whole(c);
    static constexpr uint16_t kAllCtas = (1u << kClusterCtas) - 1;
    static constexpr uint32_t kFirstParity = kFault == ConvFault::ProducerStartsAtPhase0 ? 0u : 1u;

    KG_DEVICE static void input(const WinogradParams& params, Smem& smem) {
        const ConvParams& p = params.conv;
        SlotParities empty{kFirstParity * ~0u};
        for (uint32_t index = isa::block_index().x; index < tile_count<kClusterCtas>(p); index += isa::grid_size().x) {
            const ConvTile tile = tile_at<kWhole, kClusterCtas>(p, index);
            const FramePair& pair = params.pairs[tile.frame];
            const auto load_operand = [&](uint32_t phase, uint32_t block, uint32_t sum) {
                const uint32_t n = block * operands_of(phase, pair.outputs) + sum;
                load(p, smem, empty, operand_slot<kConfig>(phase, n), tile, pair.input[frame_of(phase, sum)], block);
            };
            KG_ROLLED
            for (uint32_t phase = 0; phase < (keeps(c) ? 1 : kPhases); ++phase) {
                KG_ROLLED
                for (uint32_t block = 0; block < p.channel_blocks; ++block) {
                    KG_ROLLED
                    for (uint32_t sum = 0; sum < kSums; ++sum) {
                        if (keeps(c) && adds_to(sum, 1, pair)) load_operand(1, block, sum);
                        if (!adds_to(sum, phase, pair)) continue;
                        if (phase == 1) load(p, smem, empty, 0, tile, pair.input[spent_for(sum)], block);
                        load_operand(phase, block, sum);
                    }
                }
            }
        }
    }

    /// A stage is stage_taps taps of bn filters, of which each CTA of the cluster loads its share for all by multicast,
    /// after the consumers of all have released it. Each CTA's barrier counts the bytes that arrive in its shared
    /// memory.
    KG_DEVICE static void filter(const WinogradParams& params, Smem& smem) {
        const ConvParams& p = params.conv;
        constexpr uint32_t kTaps = 9, kStageBytes = filter_stage_bytes(kWhole);
        Ring<c.filter_stages> ring{0, kFirstParity};
        const uint32_t rank = isa::cluster_rank();
        for (uint32_t index = isa::block_index().x; index < tile_count<kClusterCtas>(p); index += isa::grid_size().x) {
            const ConvTile tile = tile_at<kWhole, kClusterCtas>(p, index);
            KG_ROLLED
            for (uint32_t phase = 0; phase < kPhases; ++phase) {
                KG_ROLLED
                for (uint32_t block = 0; block < p.channel_blocks; ++block) {
                    KG_ROLLED
                    for (uint32_t sum = 0; sum < kSums; ++sum) {
                        if (!adds_to(sum, phase, params.pairs[tile.frame])) continue;
                        KG_ROLLED
                        for (uint32_t tap = 0; tap < kTaps; tap += c.stage_taps, ring.advance()) {
                            isa::mbarrier::wait(smem.filter_empty[ring.slot], ring.parity);
                            isa::mbarrier::arrive_expect(smem.filter_full[ring.slot], kStageBytes);
                            const uint32_t of_tap = (tile.n / c.bn * p.channel_blocks + block) * kWinogradTaps +
                                                    (phase * kSums + sum) * kTaps + tap;
                            const uint32_t row = of_tap * filter_rows(c);
                            load_share(p, smem, ring.slot, row, rank);
                            if constexpr (kFault == ConvFault::EveryCtaLoads)
                                load_share(p, smem, ring.slot, row, kClusterCtas - 1 - rank);
                        }
                    }
                }
            }
        }
    }

  private:
    /// A share of the stage that begins at `row` of the filters, into `slot`.
    KG_DEVICE static void load_share(const ConvParams& p, Smem& smem, uint32_t slot, uint32_t row, uint32_t share) {
        const isa::tma::Coordinates<2> at{{0, static_cast<int32_t>(row + share * filter_share_rows(c))}};
        isa::tma::load_tiled_multicast<2>(smem.filter[slot] + share * filter_share_rows(c) * kFilterRowBytes, p.filter,
                                          at, smem.filter_full[slot], kAllCtas);
    }

    /// One frame's halo of a block of channels; zeros outside the image, past the last channel, and for a frame that is
    /// padding, whose box lies above the image.
    KG_DEVICE static void load(const ConvParams& p, Smem& smem, SlotParities& empty, uint32_t slot,
                               const ConvTile& tile, uint32_t frame, uint32_t block) {
        constexpr uint32_t kMissing =
            kFault == ConvFault::ExpectsTooFewBytes ? halo_columns(kWhole) * row_bytes(kWhole) : 0;
        const bool padding = frame == FramePair::kPadding;
        const int32_t x = tile.x - p.pad_left;
        const int32_t y = padding ? -static_cast<int32_t>(halo_rows(kWhole)) : tile.y - p.pad_top;
        isa::mbarrier::wait(smem.halo_empty[slot], empty.take(slot));
        isa::mbarrier::arrive_expect(smem.halo_full[slot], halo_bytes(kWhole) - kMissing);
        isa::tma::load_tiled<3>(smem.halo[slot], p.input[padding ? 0 : frame],
                                {{static_cast<int32_t>(block * kWhole.channels), x, y}}, smem.halo_full[slot]);
    }
};

}  // namespace kinetograph::sm90
