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
    uint32_t halo_stages = 0;
    uint32_t kept_stages = 0;  ///< more, for the operands of phase 1, if they are made with those of phase 0
    uint32_t filter_stages = 0;

    friend bool operator==(const WinogradConfig&, const WinogradConfig&) = default;
};

inline constexpr uint32_t kWinogradTaps = 4 * 9;  ///< 4 of the transform, each with 9 of the image
inline constexpr uint32_t kSums = 2;              ///< sets of accumulators, which become a pair's two frames
inline constexpr uint32_t kWinogradThreads = kThreads + 128;
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
/// Warps that rewrite halos as operands. Where consumers share a tile, the last four warps finish its results;
/// otherwise the first of them stores results and the others transform too.
KG_HOST_DEVICE uint32_t transform_warps(const WinogradConfig& c) { return c.consumers == Consumers::Together ? 2 : 5; }
/// Offset in rows and columns from the first warpgroup's pixels of a tile to the second's.
KG_HOST_DEVICE uint32_t rows_between(const WinogradConfig& c) {
    return share(c).blocks_y < c.blocks_y ? tile_rows(share(c)) : 0;
}
KG_HOST_DEVICE uint32_t columns_between(const WinogradConfig& c) {
    return share(c).blocks_x < c.blocks_x ? tile_columns(share(c)) : 0;
}
/// The filter's tensor map has rows of 512 bytes; filter_rows(): those of one tap's `bn` filters of 32 channels.
inline constexpr uint32_t kFilterRowBytes = 512;
KG_HOST_DEVICE uint32_t filter_rows(const WinogradConfig& c) { return c.bn * row_bytes(whole(c)) / kFilterRowBytes; }
/// Rows of a stage that each CTA of a cluster loads for all.
KG_HOST_DEVICE uint32_t filter_share_rows(const WinogradConfig& c) {
    return c.stage_taps * filter_rows(c) / kClusterCtas;
}
/// Staging buffers, each of 64 pixels: one for each warpgroup and frame of a shared tile, or a ring for both
/// warpgroups.
KG_HOST_DEVICE uint32_t staging_buffers(const WinogradConfig& c) {
    return c.consumers == Consumers::Together ? kConsumers * kSums : 3;
}
/// Bytes of one frame's halo in shared memory, a multiple of the swizzle's pattern: a pixel's chunk has the same
/// offset in every halo.
KG_HOST_DEVICE uint32_t halo_stage_bytes(const WinogradConfig& c) { return (halo_bytes(whole(c)) + 511) / 512 * 512; }
/// Whether the operands of both phases are made at once. A block's four frames are then loaded once, not six times,
/// and read once by the transform: two thirds and four fifths of what moves through shared memory for them.
KG_HOST_DEVICE bool keeps(const WinogradConfig& c) { return c.kept_stages > 0; }
/// Halos in shared memory.
KG_HOST_DEVICE uint32_t halos(const WinogradConfig& c) { return c.halo_stages + c.kept_stages; }
KG_HOST_DEVICE uint32_t shared_bytes(const WinogradConfig& c) {
    const uint32_t halo_ring = (halos(c) * halo_stage_bytes(c) + 1023) / 1024 * 1024;
    return halo_ring + c.filter_stages * filter_stage_bytes(share(c)) + staging_buffers(c) * staging_bytes(share(c)) +
           1024;  // the barriers
}

/// Every limit that a config can break, each with its own message.
template <WinogradConfig kConfig>
struct CheckedWinogradConfig {
    static constexpr WinogradConfig c = kConfig;
    static_assert(c.element == Element::BF16 || c.element == Element::F16, "16-bit elements");
    static_assert(c.bn % 32 == 0 && c.bn <= 256, "filters of one wgmma");
    static_assert(c.blocks_y % sharers(c) == 0 || c.blocks_x % sharers(c) == 0,
                  "warpgroups share a tile by rows or by columns of blocks");
    static_assert(2 * blocks(share(c)) * c.bn / 2 <= 192, "more accumulators than a thread has registers for");
    static_assert(!has_part_of_a_piece(share(c)), "results leave in whole pieces");
    static_assert(c.consumers == Consumers::InTurn || blocks(share(c)) == 1, "a buffer for each share of a frame");
    static_assert(9 % c.stage_taps == 0, "the taps of an image are whole filter stages");
    static_assert(filter_stage_bytes(share(c)) % 1024 == 0, "stages start on the swizzle");
    static_assert(c.stage_taps * filter_rows(c) % kClusterCtas == 0, "CTAs load equal shares of a stage");
    static_assert(keeps(c) == (c.consumers == Consumers::InTurn), "a warpgroup's turn skips kept operands");
    static_assert(c.halo_stages >= 4, "one operand in use, another ready, two frames on their way");
    static_assert(c.halo_stages % 2 == 0 && c.kept_stages % 2 == 0, "both operands of a block of channels");
    static_assert(c.kept_stages <= 2 * c.halo_stages, "a warpgroup that skips a tile counts two laps of phase 0");
    static_assert(halos(c) <= 32, "a bit for each slot's parity");
    static_assert(c.filter_stages >= 2, "a ring needs two stages");
    static_assert(3 * halos(c) + 2 * c.filter_stages + (1 + 2 * staging_buffers(c)) * kConsumers <= 128,
                  "more barriers than their KiB holds");
    static_assert(shared_bytes(c) <= kSharedLimit, "more shared memory than a block may have");
};

}  // namespace kinetograph::sm90
