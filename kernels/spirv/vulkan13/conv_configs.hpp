#pragma once

#include <cstdint>

/// Tiles of the shaders that convolve.
namespace kinetograph::vulkan13 {

/// Of conv_tiles.comp and product.comp: bm rows by bn columns, of which a thread sums tm x tn.
struct Tile {
    std::uint32_t bm, bn, tm, tn;
    constexpr std::uint32_t threads() const { return bm / tm * (bn / tn); }
};
inline constexpr std::uint32_t kTileDepth = 16;
inline constexpr Tile kTiles[] = {{128, 64, 8, 4}, {64, 64, 4, 4}, {128, 16, 4, 2}, {64, 16, 2, 2}};

/// A tile stages whole rows and columns of its depth by every thread.
constexpr bool is_whole(const Tile& tile) {
    return tile.threads() % kTileDepth == 0 && tile.bm * kTileDepth % tile.threads() == 0;
}
static_assert(is_whole(kTiles[0]) && is_whole(kTiles[1]) && is_whole(kTiles[2]) && is_whole(kTiles[3]));

/// Bytes of shared memory: the rows and columns of a depth, each 4 longer than the tile.
constexpr std::uint32_t shared_bytes(const Tile& tile) { return kTileDepth * (tile.bm + tile.bn + 8) * 4; }
static_assert(shared_bytes(kTiles[0]) <= 16 << 10);  // what every device has

/// Of conv_slab.comp: height x width pixels by bn filters, in chunks of bk channels; a subgroup sums subgroup_pixels x
/// subgroup_filters of it.
struct SlabTile {
    std::uint32_t bn, bk, subgroup_pixels, subgroup_filters, height, width;
    double cost;  ///< of a product, of the cheapest tile's: from rates of an H200 through its Vulkan driver
    constexpr std::uint32_t subgroups() const { return height * width / subgroup_pixels * (bn / subgroup_filters); }
    /// Of shared memory, with that many taps in a frame; the sums take their place later.
    constexpr std::uint32_t shared_bytes(std::uint32_t rows, std::uint32_t columns) const {
        const std::uint32_t slab = (height + rows - 1) * (width + columns - 1) * (bk / 8 + 1);
        const std::uint32_t staged = slab + columns * bk * (bn / 8 + 1),
                            sums = subgroups() * 16 * (subgroup_filters / 4 + 1);
        return 16 * (staged > sums ? staged : sums);
    }
};
inline constexpr SlabTile kSlabTiles[] = {
    {96, 32, 64, 48, 16, 16, 1.03}, {64, 16, 64, 64, 16, 16, 1.0}, {96, 16, 64, 48, 16, 16, 1.1},
    {48, 16, 64, 48, 16, 16, 1.15}, {32, 16, 64, 32, 16, 16, 1.4}, {16, 16, 64, 16, 16, 16, 2.0},
};

/// Of product_matrix.comp: bm rows by bn columns, bk deep; a subgroup sums subgroup_rows x subgroup_columns of it.
struct ProductTile {
    std::uint32_t bm, bn, bk, subgroup_rows, subgroup_columns;
    constexpr std::uint32_t subgroups() const { return bm / subgroup_rows * (bn / subgroup_columns); }
    constexpr std::uint32_t shared_bytes() const {
        const std::uint32_t by_column = bn * (bk / 8 + 1), by_depth = bk * (bn / 8 + 1);
        const std::uint32_t sums = subgroups() * 16 * (subgroup_columns / 4 + 1);
        const std::uint32_t tiles = bm * (bk / 8 + 1) + (by_column > by_depth ? by_column : by_depth);
        return 16 * (tiles > sums ? tiles : sums);
    }
};
inline constexpr ProductTile kScoresTile{128, 128, 32, 64, 64};
inline constexpr ProductTile kSumsTile{64, 128, 32, 32, 64};  ///< of few columns: more workgroups

}  // namespace kinetograph::vulkan13
