#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_config.hpp>

/// What one instance of the Winograd convolution is made of. A tile is a rectangle of pixels of two output frames times
/// `bn` filters.
namespace kinetograph::sm90 {

/// How the two consumer warpgroups divide the tiles.
enum class Consumers : uint8_t {
    Together,  ///< one tile, half of its rows or columns each: reads its filters once for both
    InTurn,    ///< a tile each: one's epilogue overlaps the other's products
};

struct WinogradConfig {
    Element element = Element::BF16;
    uint32_t bn = 0;                      ///< filters of a tile
    uint32_t blocks_y = 0, blocks_x = 0;  ///< of 8 x 8 pixels
    Consumers consumers = Consumers::Together;
    uint32_t stage_taps = 1;
    uint32_t halo_stages = 0, filter_stages = 0;

    friend bool operator==(const WinogradConfig&, const WinogradConfig&) = default;
};

inline constexpr uint32_t kTransformWarps = 2;
/// CTAs of a cluster. Both use the same filters at the same time, and each filter stage is loaded once, by multicast.
inline constexpr uint32_t kClusterCtas = 2;

/// The whole tile, of one frame: what is loaded.
KG_HOST_DEVICE ConvConfig whole(const WinogradConfig& c) {
    return {.element = c.element,
            .blocks_y = c.blocks_y,
            .blocks_x = c.blocks_x,
            .bn = c.bn,
            .channels = 32,
            .side = 3,
            .stage_taps = c.stage_taps,
            .input_stages = c.halo_stages,
            .filter_stages = c.filter_stages};
}
/// Warpgroups that share a tile.
KG_HOST_DEVICE uint32_t sharers(const WinogradConfig& c) { return c.consumers == Consumers::Together ? kConsumers : 1; }
/// One warpgroup's part of a tile, of one frame: what its products and its epilogue work on.
KG_HOST_DEVICE ConvConfig share(const WinogradConfig& c) {
    ConvConfig part = whole(c);
    (part.blocks_y % sharers(c) == 0 ? part.blocks_y : part.blocks_x) /= sharers(c);
    return part;
}
/// Offset in rows and columns from the first warpgroup's pixels of a tile to the second's.
KG_HOST_DEVICE uint32_t rows_between(const WinogradConfig& c) {
    return share(c).blocks_y < c.blocks_y ? tile_rows(share(c)) : 0;
}
KG_HOST_DEVICE uint32_t columns_between(const WinogradConfig& c) {
    return share(c).blocks_x < c.blocks_x ? tile_columns(share(c)) : 0;
}
/// Sets of staging buffers: one per warpgroup that shares a tile; warpgroups that take turns pass one set on.
KG_HOST_DEVICE uint32_t staging_sets(const WinogradConfig& c) { return sharers(c); }
/// Bytes of one frame's halo in shared memory, a multiple of the swizzle's pattern: a pixel's chunk has the same
/// offset in every halo.
KG_HOST_DEVICE uint32_t halo_stage_bytes(const WinogradConfig& c) { return (halo_bytes(whole(c)) + 511) / 512 * 512; }
KG_HOST_DEVICE uint32_t shared_bytes(const WinogradConfig& c) {
    const uint32_t halos = (c.halo_stages * halo_stage_bytes(c) + 1023) / 1024 * 1024;
    return halos + c.filter_stages * filter_stage_bytes(share(c)) +
           staging_sets(c) * staging_buffers(share(c)) * staging_bytes(share(c)) + 1024;  // the barriers
}

/// Every limit that a config can break, each with its own message.
template <WinogradConfig kConfig>
struct CheckedWinogradConfig {
    static constexpr WinogradConfig c = kConfig;
    static_assert(c.element == Element::BF16 || c.element == Element::F16, "16-bit elements");
    static_assert(c.bn % 32 == 0 && c.bn <= 256, "results leave in whole pieces");
    static_assert(c.blocks_y % sharers(c) == 0 || c.blocks_x % sharers(c) == 0,
                  "warpgroups share a tile by rows or by columns of blocks");
    static_assert(2 * blocks(share(c)) * c.bn / 2 <= 192, "more accumulators than a thread has registers for");
    static_assert(9 % c.stage_taps == 0, "the taps of an image are whole filter stages");
    static_assert(filter_stage_bytes(share(c)) % 1024 == 0, "stages start on the swizzle");
    static_assert(c.halo_stages >= 4, "one operand in use, another ready, two frames on their way");
    // In an odd ring a stage would hold a spent frame in one lap and an operand in the next. The transform could
    // complete operand_full for both before a consumer waits for the first, whose parity then looks not yet reached.
    static_assert(c.halo_stages % 2 == 0, "a pair's frames keep their places from lap to lap");
    static_assert(c.filter_stages >= 2, "a ring needs two stages");
    static_assert(3 * c.halo_stages + 2 * c.filter_stages + 2 * kConsumers <= 128,
                  "more barriers than their KiB holds");
    static_assert(shared_bytes(c) <= kSharedLimit, "more shared memory than a block may have");
};

}  // namespace kinetograph::sm90
