#pragma once

#include <kinetograph/kernels/cuda/sm100/conv2d_tiles.hpp>
#include <kinetograph/kernels/isa/tma.hpp>

/// Epilogue-load warp: one thread loads the source C, output tile by output tile, after the first main loads have been
/// issued.
namespace kinetograph::sm100 {

template <Conv2dConfig kConfig, Fault kFault>
struct EpilogueLoadRole {
    using Smem = Conv2dSmem<kConfig>;
    static constexpr Conv2dConfig c = kConfig;
    static constexpr uint32_t kParts = column_parts(c);

    template <class Params>
    KG_DEVICE static void run(const Params& params, Smem& smem) {
        const Conv2dGeometry& g = params.geometry;
        prefetch_maps<kConfig>(params.source);
        TileWalk<kConfig, kFault> tiles(g);
        Ring<c.source_stages> source{0, 1};
        if constexpr (kFault != Fault::SourceAheadOfPrologue) isa::mbarrier::wait(smem.load_order, 0);
        isa::mbarrier::promise_over(smem.load_order, 0, "source loads after the main loads' prologue");
        do {
            const Tile& tile = tiles.tile();
            const uint32_t count = output_tiles<kConfig>(g, tile);
            for (uint32_t i = 0; i < count; ++i, source.advance()) {
                isa::mbarrier::wait(smem.source_empty[source.slot], source.parity);
                isa::mbarrier::arrive_expect(smem.source_full[source.slot], source_tile_bytes(c));
                for (uint32_t part = 0; part < kParts; ++part) {
                    const uint32_t column = tile.n + i * c.output_tile.n + part * part_columns(c);
                    isa::tma::load_tiled<2>(
                        smem.source[source.slot] + part * (source_tile_bytes(c) / kParts), params.source[tile.group],
                        {{static_cast<int32_t>(column), static_cast<int32_t>(tile.m)}}, smem.source_full[source.slot]);
                }
            }
        } while (tiles.next(smem));
    }
};

}  // namespace kinetograph::sm100
