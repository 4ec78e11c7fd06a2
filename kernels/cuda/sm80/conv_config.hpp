#pragma once

#include <kinetograph/kernels/isa/descriptors.hpp>

/// Everything that is fixed when the sm_80 convolution is compiled.
namespace kinetograph::sm80 {

/// Elements of K in one stage: a row of a tile is 64 bytes, four 16-byte chunks.
inline constexpr uint32_t kBK = 32, kChunk = 8, kRowChunks = kBK / kChunk, kRowBytes = 2 * kBK;

struct ConvConfig {
    isa::Element element = isa::Element::BFloat16;
    uint32_t bm = 128, bn = 128;        ///< output pixels and filters of one CTA
    uint32_t warps_m = 2, warps_n = 2;  ///< each warp multiplies bm / warps_m by bn / warps_n
    uint32_t stages = 3;                ///< of the ring of k blocks
    uint32_t copy_bytes = 16;           ///< of one copy of input channels: 16 (c_in % 8 = 0), 4 (even), 2 (any)
    uint32_t ctas_per_sm = 2;           ///< that registers are shared among

    friend constexpr bool operator==(const ConvConfig&, const ConvConfig&) = default;
};

KG_HOST_DEVICE uint32_t threads(const ConvConfig& c) { return 32 * c.warps_m * c.warps_n; }
KG_HOST_DEVICE uint32_t stage_bytes(const ConvConfig& c) { return (c.bm + c.bn) * kRowBytes; }

/// Shared memory: the ring, then each warp column's sums of squares of its rows (norm).
template <ConvConfig kConfig>
struct ConvSmem {
    static constexpr ConvConfig c = kConfig;
    alignas(1024) uint16_t a[c.stages][c.bm * kBK];
    uint16_t b[c.stages][c.bn * kBK];
    float squares[c.warps_n][c.bm];
};
KG_HOST_DEVICE uint32_t shared_bytes(const ConvConfig& c) {
    return (c.stages * stage_bytes(c) + c.warps_n * c.bm * 4 + 1023) / 1024 * 1024;
}

/// Compile-time checks, each naming the limit that was broken.
template <ConvConfig c>
struct CheckedConvConfig {
    static_assert(c.element == isa::Element::BFloat16 || c.element == isa::Element::Float16,
                  "mma.sync of 16-bit types");
    static_assert(c.bm % (16 * c.warps_m) == 0, "a warp's rows are whole 16-row products");
    static_assert(c.bn % (16 * c.warps_n) == 0, "a warp's columns are whole pairs of 8-column products");
    static_assert(c.bm * kRowChunks % threads(c) == 0 && c.bn * kRowChunks % threads(c) == 0,
                  "every thread copies equally many chunks of a stage");
    static_assert(threads(c) / kRowChunks % 8 == 0, "rows of one thread share their swizzle phase");
    static_assert(c.stages >= 2, "a stage is filled while another is multiplied");
    static_assert(c.copy_bytes == 16 || c.copy_bytes == 4 || c.copy_bytes == 2, "copies of 16, 4 or 2 bytes");
    static_assert(sizeof(ConvSmem<c>) == shared_bytes(c), "the host reserves what the kernel uses");
    static_assert(shared_bytes(c) <= 99 * 1024, "99 KiB: opt-in limit of sm_86, sm_89 and sm_120");
};

/// Byte offset of a chunk in a tile whose rows are 64 bytes: two rows fill the 128 bytes of banks, so rows 2 apart
/// rotate by one chunk, and ldmatrix meets every bank once.
KG_HOST_DEVICE uint32_t chunk_offset(uint32_t row, uint32_t chunk) {
    return row * kRowBytes + ((chunk ^ (row / 2 % kRowChunks)) * 16);
}

}  // namespace kinetograph::sm80
