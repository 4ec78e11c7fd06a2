#pragma once

#include <kinetograph/kernels/cuda/sm80/conv_config.hpp>

/// The parameters that are fixed when the slab convolution (slab_kernel.hpp) is compiled.
namespace kinetograph::sm80 {

inline constexpr uint32_t kSlabTileColumns = 16;  ///< pixels of a tile side by side: the rows of one product
inline constexpr uint32_t kSlabDepth = 32;        ///< input channels of a slab
inline constexpr uint32_t kSlabRowBytes = 2 * kSlabDepth, kSlabRowChunks = kSlabDepth / kChunk;

struct SlabConfig {
    Element element = Element::BF16;
    uint32_t tile_rows = 16;  ///< a tile is tile_rows x 16 pixels by bn filters
    uint32_t bn = 96;
    uint32_t warps_m = 4, warps_n = 1;  ///< each warp multiplies tile_rows * 16 / warps_m pixels by bn / warps_n
    uint32_t taps = 3;                  ///< of the filter in rows and in columns
    uint32_t stages = 3;                ///< of the ring of filters, each of one row of taps
    uint32_t ctas_per_sm = 2;

    friend constexpr bool operator==(const SlabConfig&, const SlabConfig&) = default;
};

KG_HOST_DEVICE uint32_t threads(const SlabConfig& c) { return 32 * c.warps_m * c.warps_n; }
KG_HOST_DEVICE uint32_t slab_columns(const SlabConfig& c) { return kSlabTileColumns + c.taps - 1; }
KG_HOST_DEVICE uint32_t slab_pixels(const SlabConfig& c) { return (c.tile_rows + c.taps - 1) * slab_columns(c); }
/// Pixels that the epilogue stages at a time.
KG_HOST_DEVICE uint32_t pass_pixels(const SlabConfig& c) {
    return c.tile_rows * kSlabTileColumns < 128 ? c.tile_rows * kSlabTileColumns : 128;
}
/// The tile as the epilogue sees it.
KG_HOST_DEVICE ConvConfig epilogue_config(const SlabConfig& c) {
    return {.element = c.element,
            .bm = c.tile_rows * kSlabTileColumns,
            .bn = c.bn,
            .warps_m = c.warps_m,
            .warps_n = c.warps_n};
}

template <SlabConfig c>
struct SlabRing {
    alignas(1024) uint8_t slabs[2][slab_pixels(c) * kSlabRowBytes];  ///< one is multiplied while the other is filled
    alignas(128) uint8_t filters[c.stages][c.taps * c.bn * kSlabRowBytes];
};
/// Shared memory: the ring; after the last product the sums of a pass of the epilogue take its place.
template <SlabConfig c>
union SlabSmem {
    SlabRing<c> ring;
    float tile[pass_pixels(c) * tile_pitch(epilogue_config(c))];
};
KG_HOST_DEVICE uint32_t shared_bytes(const SlabConfig& c) {
    const uint32_t slab = (slab_pixels(c) * kSlabRowBytes + 127) / 128 * 128;
    const uint32_t ring = slab_pixels(c) * kSlabRowBytes + slab + c.stages * c.taps * c.bn * kSlabRowBytes;
    const uint32_t tile = pass_pixels(c) * tile_pitch(epilogue_config(c)) * 4;
    return ((ring > tile ? ring : tile) + 1023) / 1024 * 1024;
}

/// Compile-time checks, each naming the limit that was broken.
template <SlabConfig c>
struct CheckedSlabConfig {
    static_assert(c.element == Element::BF16 || c.element == Element::F16, "mma.sync of 16-bit types");
    static_assert(c.tile_rows % c.warps_m == 0, "a warp's pixels are whole rows of the tile");
    static_assert(c.bn % (16 * c.warps_n) == 0, "a warp's columns are whole pairs of 8-column products");
    static_assert(c.taps == 2 || c.taps == 3, "2x2 or 3x3 taps");
    static_assert(c.stages >= 2 && c.stages <= c.taps + 1,
                  "a slab lands while one row of taps after another is multiplied");
    static_assert(pass_pixels(c) % (c.tile_rows * kSlabTileColumns / c.warps_m) == 0,
                  "a warp's pixels are of one pass");
    static_assert(sizeof(SlabSmem<c>) == shared_bytes(c), "the host reserves what the kernel uses");
    static_assert(shared_bytes(c) <= 99 * 1024, "what GeForce cards give a block");
};

/// Byte offset of a chunk in a row of a slab or of filters: chunks rotate every second row, so that any eight
/// neighbouring rows use every bank once.
KG_HOST_DEVICE uint32_t slab_offset(uint32_t row, uint32_t chunk) {
    return row * kSlabRowBytes + ((chunk ^ (row / 2 % 4)) * 16);
}

}  // namespace kinetograph::sm80
