#pragma once

#include <kinetograph/kernels/isa/descriptors.hpp>

/// The parameters that are fixed when the sm_80 convolution is compiled.
namespace kinetograph::sm80 {

/// Elements of a chunk: the 16 bytes of one copy and of one row of an ldmatrix.
inline constexpr uint32_t kChunk = 8;

struct ConvConfig {
    Element element = Element::BF16;
    uint32_t bm = 128, bn = 128;        ///< output pixels and filters of one CTA
    uint32_t warps_m = 2, warps_n = 2;  ///< each warp multiplies bm / warps_m by bn / warps_n
    uint32_t bk = 32;                   ///< elements of K in a stage: 32 or 64, rows of 64 or 128 bytes
    uint32_t stages = 3;                ///< of the ring of k blocks
    uint32_t copy_bytes = 16;           ///< of one copy of input channels: 16 (c_in % 8 = 0), 4 (even), 2 (any)
    uint32_t ctas_per_sm = 2;           ///< CTAs that share an SM's registers
    uint32_t frames = 1;                ///< that an operand is made of: 2 for Winograd's sums and differences

    friend constexpr bool operator==(const ConvConfig&, const ConvConfig&) = default;
};

KG_HOST_DEVICE uint32_t threads(const ConvConfig& c) { return 32 * c.warps_m * c.warps_n; }
KG_HOST_DEVICE uint32_t row_bytes(const ConvConfig& c) { return 2 * c.bk; }
KG_HOST_DEVICE uint32_t row_chunks(const ConvConfig& c) { return c.bk / kChunk; }
KG_HOST_DEVICE uint32_t stage_bytes(const ConvConfig& c) { return (c.frames * c.bm + c.bn) * row_bytes(c); }

/// Lanes that share a pixel in the epilogue: the largest power of two that divides the tile's quads of channels.
KG_HOST_DEVICE uint32_t lanes_of_a_pixel(const ConvConfig& c) {
    uint32_t lanes = 1;
    while (lanes < 32 && c.bn / 4 % (2 * lanes) == 0) lanes *= 2;
    return lanes;
}
/// Pitch in floats between pixels of the tile that the epilogue stages.
KG_HOST_DEVICE uint32_t tile_pitch(const ConvConfig& c) { return c.bn + 8; }

template <ConvConfig c>
struct ConvRing {
    alignas(1024) uint16_t a[c.stages][c.frames * c.bm * c.bk];
    uint16_t b[c.stages][c.bn * c.bk];
};
/// Shared memory: the ring of k blocks; after the last block the sums of the whole tile take its place.
template <ConvConfig c>
union ConvSmem {
    ConvRing<c> ring;
    float tile[c.bm * tile_pitch(c)];
};
KG_HOST_DEVICE uint32_t shared_bytes(const ConvConfig& c) {
    const uint32_t ring = c.stages * stage_bytes(c), tile = c.bm * tile_pitch(c) * 4;
    return ((ring > tile ? ring : tile) + 1023) / 1024 * 1024;
}

/// Compile-time checks, each naming the limit that was broken.
template <ConvConfig c>
struct CheckedConvConfig {
    static_assert(c.element == Element::BF16 || c.element == Element::F16, "mma.sync of 16-bit types");
    static_assert(c.bm % (16 * c.warps_m) == 0, "a warp's rows are whole 16-row products");
    static_assert(c.bn % (16 * c.warps_n) == 0, "a warp's columns are whole pairs of 8-column products");
    static_assert(c.bk == 32 || c.bk == 64, "rows of 64 or 128 bytes");
    static_assert(c.bm * row_chunks(c) % threads(c) == 0 && c.bn * row_chunks(c) % threads(c) == 0,
                  "every thread copies equally many chunks of a stage");
    static_assert(threads(c) / row_chunks(c) % 8 == 0, "rows of one thread share their swizzle phase");
    static_assert(c.frames == 1 || c.frames == 2, "frames as they are, or pairs");
    static_assert(c.stages >= 2, "a stage is filled while another is multiplied");
    static_assert(c.copy_bytes == 16 || c.copy_bytes == 4 || c.copy_bytes == 2, "copies of 16, 4 or 2 bytes");
    static_assert(sizeof(ConvSmem<c>) == shared_bytes(c), "the host reserves what the kernel uses");
    static_assert(shared_bytes(c) <= 227 * 1024, "227 KiB: opt-in limit of sm_90 and sm_100; others have less");
};

/// Byte offset of a chunk in a tile. The 128 bytes of all banks hold two rows of 64 bytes or one of 128, so chunks
/// rotate every second row or every row, and the eight rows of an ldmatrix use every bank once.
template <ConvConfig c>
KG_HOST_DEVICE uint32_t chunk_offset(uint32_t row, uint32_t chunk) {
    const uint32_t phase = c.bk == 32 ? row / 2 % 4 : row % 8;
    return row * row_bytes(c) + ((chunk ^ phase) * 16);
}

}  // namespace kinetograph::sm80
