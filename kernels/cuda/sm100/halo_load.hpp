#pragma once

#include <kinetograph/kernels/cuda/sm100/halo_tiles.hpp>

/// The three load warps, one thread each: halos of the input, filters, and residuals. Order of K: temporal taps
/// outermost, then blocks of channels, then taps of the image.
namespace kinetograph::sm100 {

template <HaloConfig kConfig, HaloFault kFault>
struct HaloLoadRole {
    using Smem = HaloSmem<kConfig>;
    using Walk = HaloWalk<kConfig>;
    static constexpr HaloConfig c = kConfig;

    /// One halo per block of K; pixels outside the image and channels past the last are zeros. Two pairs that share
    /// pixels take turns: each halo is loaded by one pair for both.
    KG_DEVICE static void input(const HaloParams& params, Smem& smem) {
        const sm90::ConvParams& p = params.conv;
        prefetch_inputs(p);
        Ring<c.input_stages> ring{0, 1};
        uint32_t turn = 0;
        for (Walk walk(p); walk.more(); walk.advance()) {
            const HaloTile tile = walk.tile();
            const int32_t px = kFault == HaloFault::WrongParity ? 0 : tile.px();
            const int32_t x = tile.x - p.pad_left + px, y = tile.y - p.pad_top + tile.py();
            const sm90::FrameTaps& taps = p.taps[tile.frame];
            for (uint32_t tap = 0; tap < taps.count; ++tap) {
                const isa::TensorMap& map = p.input[taps.input[kFault == HaloFault::OneFrameOfInput ? 0 : tap]];
                for (uint32_t block = 0; block < p.channel_blocks; ++block, ring.advance(), turn ^= 1) {
                    isa::mbarrier::wait(smem.input_empty[ring.slot], ring.parity);
                    expect(smem.input_full[ring.slot],
                           kFault == HaloFault::ExpectsHalfABlock ? halo_bytes(c) / 2 : halo_bytes(c));
                    if (c.sharing == HaloSharing::Pixels && turn != Walk::pair()) continue;
                    load<c.sharing == HaloSharing::Pixels>(
                        smem.input[ring.slot], map,
                        isa::tma::Coordinates<3>{{static_cast<int32_t>(block * c.channels), x, y}},
                        smem.input_full[ring.slot]);
                }
            }
        }
        drain(smem.input_empty, ring);
    }

    /// A stage is stage_taps taps of this CTA's filters. Two pairs that share filters each load half of them for both.
    KG_DEVICE static void filter(const HaloParams& params, Smem& smem) {
        const sm90::ConvParams& p = params.conv;
        isa::tma::prefetch(p.filter);
        Ring<c.filter_stages> ring{0, 1};
        for (Walk walk(p); walk.more(); walk.advance()) {
            const HaloTile tile = walk.tile();
            const uint32_t parity = kFault == HaloFault::FirstParityFilters ? 0 : tile.parity;
            const uint32_t slice = c.sharing == HaloSharing::Filters ? Walk::pair() * loaded_filters(c) : 0;
            const uint32_t half = kFault == HaloFault::FirstHalfOfFilters ? 0 : slice;
            const auto first_filter = static_cast<int32_t>(tile.n + Walk::rank() % c.cta_group * cta_filters(c) + half);
            const sm90::FrameTaps& taps = p.taps[tile.frame];
            for (uint32_t tap = 0; tap < taps.count; ++tap) {
                const uint32_t q = kFault == HaloFault::FirstTemporalTaps ? tap : taps.q[tap];
                const uint32_t first = q * c.side * c.side;
                for (uint32_t block = 0; block < p.channel_blocks; ++block) {
                    for (uint32_t group = 0; group < tap_groups(c); ++group, ring.advance()) {
                        isa::mbarrier::wait(smem.filter_empty[ring.slot], ring.parity);
                        expect(smem.filter_full[ring.slot], filter_stage_bytes(c));
                        load<c.sharing == HaloSharing::Filters>(
                            smem.filter[ring.slot] + slice * row_bytes(c), p.filter,
                            isa::tma::Coordinates<4>{{static_cast<int32_t>(block * c.channels), first_filter,
                                                      static_cast<int32_t>(first + group * c.stage_taps),
                                                      static_cast<int32_t>(parity)}},
                            smem.filter_full[ring.slot]);
                    }
                }
            }
        }
        drain(smem.filter_empty, ring);
    }

    /// Residuals piece by piece, in the epilogue's order; a slot holds the parts of all four warps.
    KG_DEVICE static void residual(const HaloParams& params, Smem& smem) {
        const sm90::ConvParams& p = params.conv;
        for (uint32_t frame = 0; frame < p.frames; ++frame) isa::tma::prefetch(p.residual[frame]);
        Ring<kHaloSourceSlots> ring{0, 1};
        for (Walk walk(p); walk.more(); walk.advance()) {
            const HaloTile tile = walk.tile();
            const uint32_t pieces = pieces_of<kConfig>(params, tile);
            for (uint32_t block = 0; block < c.blocks; ++block) {
                for (uint32_t piece = 0; piece < pieces; ++piece, ring.advance()) {
                    isa::mbarrier::wait(smem.source_empty[ring.slot], ring.parity);
                    isa::mbarrier::arrive_expect(smem.source_full[ring.slot], kEpilogueWarps * kPieceBytes);
                    for (uint32_t warp = 0; warp < kEpilogueWarps; ++warp) {
                        isa::tma::load_tiled<5>(smem.source[ring.slot][warp], p.residual[tile.frame],
                                                piece_place(tile, block, warp, piece), smem.source_full[ring.slot]);
                    }
                }
            }
        }
    }

  private:
    /// Announces a stage's bytes: for a pair those of both CTAs, at the first one.
    KG_DEVICE static void expect(isa::mbarrier::Barrier& full, uint32_t bytes) {
        if (!Walk::leads()) return;
        isa::mbarrier::arrive_expect(full, kFault == HaloFault::ExpectsOneCta ? bytes : c.cta_group * bytes);
    }

    /// Loads for this CTA, or by multicast also for its counterpart.
    template <bool kForBoth, int kRank>
    KG_DEVICE static void load(void* rows, const isa::TensorMap& map, const isa::tma::Coordinates<kRank>& at,
                               isa::mbarrier::Barrier& full) {
        if constexpr (c.cta_group == 1) {
            isa::tma::load_tiled(rows, map, at, full);
        } else if constexpr (kForBoth) {
            isa::tma::load_tiled_pair_multicast(rows, map, at, full, Walk::both());
        } else {
            isa::tma::load_tiled_pair(rows, map, at, full);
        }
    }

    KG_DEVICE static void prefetch_inputs(const sm90::ConvParams& p) {
        for (uint32_t frame = 0; frame < p.frames; ++frame)
            for (uint32_t tap = 0; tap < p.taps[frame].count; ++tap)
                isa::tma::prefetch(p.input[p.taps[frame].input[tap]]);
    }

    /// No CTA leaves while products that read its stages may still signal its barriers.
    template <uint32_t kStages>
    KG_DEVICE static void drain(isa::mbarrier::Barrier (&empty)[kStages], Ring<kStages> ring) {
        for (uint32_t i = 0; i < kStages; ++i, ring.advance()) isa::mbarrier::wait(empty[ring.slot], ring.parity);
    }
};

}  // namespace kinetograph::sm100
