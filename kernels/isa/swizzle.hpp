#pragma once

#include <cstdint>
#include <kinetograph/kernels/isa/host_device.hpp>

/// The XOR by which TMA, wgmma and tcgen05 spread the rows of a tile over the banks of shared memory. PTX ISA, Tensors,
/// swizzling modes. It is taken from the absolute shared-memory address, not from the tile's start.
namespace kinetograph::isa {

enum class Swizzle : uint8_t { None, Span32, Span64, Span128 };

/// Bytes of one row of a swizzled tile; 16 (one chunk) without swizzle.
KG_HOST_DEVICE uint32_t span_bytes(Swizzle swizzle) { return 16u << static_cast<uint32_t>(swizzle); }

/// The period of the pattern in bytes; stage buffers start on a multiple of it.
KG_HOST_DEVICE uint32_t pattern_bytes(Swizzle swizzle) {
    return swizzle == Swizzle::None ? 16u : 8u * span_bytes(swizzle);
}

/// Where the byte of row-major address `address` is stored: 128B: a[6:4] ^= a[9:7]; 64B: a[5:4] ^= a[8:7]; 32B: a[4] ^=
/// a[7]. Its own inverse. The 16-byte chunks of a tile's rows as they lie in lines of 128 bytes:
///
///   line   128B: a row        64B: two rows
///   0      0 1 2 3 4 5 6 7    0 1 2 3 | 0 1 2 3
///   1      1 0 3 2 5 4 7 6    1 0 3 2 | 1 0 3 2
///   2      2 3 0 1 6 7 4 5    2 3 0 1 | 2 3 0 1
///   7      7 6 5 4 3 2 1 0    3 2 1 0 | 3 2 1 0
KG_HOST_DEVICE uint32_t swizzled(Swizzle swizzle, uint32_t address) {
    const uint32_t chunks = span_bytes(swizzle) / 16u;
    return address ^ (((address >> 7) & (chunks - 1u)) << 4);
}

}  // namespace kinetograph::isa
