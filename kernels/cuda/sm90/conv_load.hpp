#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_tiles.hpp>
#include <kinetograph/kernels/isa/tma.hpp>

/// The two load warps, one thread each: halos of the input, and filters. Order of K: temporal taps outermost, then
/// blocks of channels, then taps of the image.
namespace kinetograph::sm90 {

template <ConvConfig kConfig, ConvFault kFault>
struct LoadRole {
    using Smem = ConvSmem<kConfig>;
    static constexpr ConvConfig c = kConfig;
    static constexpr uint32_t kFirstParity = kFault == ConvFault::ProducerStartsAtPhase0 ? 0u : 1u;

    /// One halo per block of K; pixels outside the image and channels past the last are zeros.
    KG_DEVICE static void input(const ConvParams& p, Smem& smem) {
        constexpr uint32_t kMissing = kFault == ConvFault::ExpectsTooFewBytes ? halo_columns(c) * row_bytes(c) : 0;
        Ring<c.input_stages> ring{0, kFirstParity};
        const uint32_t tiles = tile_count(p), step = isa::grid_size().x;
        for (uint32_t index = isa::block_index().x; index < tiles; index += step) {
            const ConvTile tile = tile_at<kConfig>(p, index);
            const bool one_image = p.image_rows == 0;
            const int32_t x = tile.x - p.pad_left + (one_image ? tile.px() : 0);
            const int32_t y =
                tile.y - p.pad_top + (one_image ? tile.py() : static_cast<int32_t>(tile.parity * p.image_rows));
            const FrameTaps& taps = p.taps[tile.frame];
            for (uint32_t tap = 0; tap < taps.count; ++tap) {
                const isa::TensorMap& map = p.input[taps.input[tap]];
                for (uint32_t block = 0; block < p.channel_blocks; ++block, ring.advance()) {
                    isa::mbarrier::wait(smem.input_empty[ring.slot], ring.parity);
                    isa::mbarrier::arrive_expect(smem.input_full[ring.slot], halo_bytes(c) - kMissing);
                    isa::tma::load_tiled<3>(smem.input[ring.slot], map,
                                            {{static_cast<int32_t>(block * c.channels), x, y}},
                                            smem.input_full[ring.slot]);
                }
            }
        }
    }

    /// A stage is stage_taps taps of bn filters.
    KG_DEVICE static void filter(const ConvParams& p, Smem& smem) {
        Ring<c.filter_stages> ring{0, kFirstParity};
        const uint32_t tiles = tile_count(p), step = isa::grid_size().x;
        for (uint32_t index = isa::block_index().x; index < tiles; index += step) {
            const ConvTile tile = tile_at<kConfig>(p, index);
            const FrameTaps& taps = p.taps[tile.frame];
            for (uint32_t tap = 0; tap < taps.count; ++tap) {
                const uint32_t first = taps.q[tap] * c.side * c.side;
                for (uint32_t block = 0; block < p.channel_blocks; ++block) {
                    for (uint32_t group = 0; group < tap_groups(c); ++group, ring.advance()) {
                        isa::mbarrier::wait(smem.filter_empty[ring.slot], ring.parity);
                        isa::mbarrier::arrive_expect(smem.filter_full[ring.slot], filter_stage_bytes(c));
                        isa::tma::load_tiled<4>(
                            smem.filter[ring.slot], p.filter,
                            {{static_cast<int32_t>(block * c.channels), static_cast<int32_t>(tile.n),
                              static_cast<int32_t>(first + group * c.stage_taps), static_cast<int32_t>(tile.parity)}},
                            smem.filter_full[ring.slot]);
                    }
                }
            }
        }
    }
};

}  // namespace kinetograph::sm90
