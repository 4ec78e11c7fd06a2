#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_products.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_tiles.hpp>
#include <kinetograph/kernels/isa/global_memory.hpp>

/// What a tile's integer sums begin with. The sums are of (input - zero point) * filter over the taps inside the image;
/// the kernel adds input * filter, where TMA has put zeros outside. So they begin with -zero point * the sum of the
/// filters of the taps inside: a row of a table for each set of taps.
namespace kinetograph::sm90 {

template <ConvConfig kConfig>
class SumStarts {
  public:
    static constexpr ConvConfig c = kConfig;

    /// Sets the sums of a tile. Nothing reads or writes them at the time.
    KG_DEVICE static void set(const ConvParams& p, const ConvTile& tile, Accumulators<kConfig>& sums) {
        const uint32_t taps = p.taps[tile.frame].present * kEdges * p.start_channels;
        const int32_t* inside = p.starts + taps + tile.n + isa::lane_index() % 4 * 2;
        if (touches_edge(p, tile)) {
            KG_UNROLL
            for (uint32_t block = 0; block < blocks(c); ++block) {
                KG_UNROLL
                for (uint32_t half = 0; half < 2; ++half)
                    load(inside + edges(p, tile, block, half) * p.start_channels, sums[block], half);
            }
        } else {
            load(inside, sums[0], 0);
            KG_UNROLL
            for (uint32_t i = 0; i < c.bn / 2; ++i) sums[0][i] = sums[0][i / 4 * 4 + i % 2];
            KG_UNROLL
            for (uint32_t block = 1; block < blocks(c); ++block) {
                KG_UNROLL
                for (uint32_t i = 0; i < c.bn / 2; ++i) sums[block][i] = sums[0][i];
            }
        }
    }

  private:
    struct alignas(8) Pair {
        int32_t at[2];
    };

    /// Of one of the thread's two pixels of a block.
    KG_DEVICE static void load(const int32_t* row, int32_t (&sums)[c.bn / 2], uint32_t half) {
        KG_UNROLL
        for (uint32_t group = 0; group < c.bn / 8; ++group) {
            const Pair pair = isa::load_global<Pair>(row + group * 8);
            sums[group * 4 + half * 2] = pair.at[0];
            sums[group * 4 + half * 2 + 1] = pair.at[1];
        }
    }

    /// Whether a tap of pixels at `at` to `last` of an axis may be outside its `size`.
    KG_DEVICE static bool crosses(int32_t at, int32_t last, int32_t pad, uint32_t size) {
        return at < pad || last + 2 - pad >= static_cast<int32_t>(size);
    }
    KG_DEVICE static bool touches_edge(const ConvParams& p, const ConvTile& tile) {
        return crosses(tile.y, tile.y + static_cast<int32_t>(tile_rows(c)) - 1, p.pad_top, p.in_h) ||
               crosses(tile.x, tile.x + static_cast<int32_t>(tile_columns(c)) - 1, p.pad_left, p.in_w);
    }
    KG_DEVICE static uint32_t edges(const ConvParams& p, const ConvTile& tile, uint32_t block, uint32_t half) {
        const uint32_t warp = isa::thread_index() % 128 / 32;
        const int32_t y = tile.y + static_cast<int32_t>(block / c.blocks_x * kBlockSide + warp * 2 + half) - p.pad_top;
        const int32_t x =
            tile.x + static_cast<int32_t>(block % c.blocks_x * kBlockSide + isa::lane_index() / 4) - p.pad_left;
        return (y < 0 ? kFirstRow : 0u) | (y + 2 >= static_cast<int32_t>(p.in_h) ? kLastRow : 0u) |
               (x < 0 ? kFirstColumn : 0u) | (x + 2 >= static_cast<int32_t>(p.in_w) ? kLastColumn : 0u);
    }
};

}  // namespace kinetograph::sm90
