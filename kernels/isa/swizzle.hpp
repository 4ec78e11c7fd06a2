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
/// a[7]. Its own inverse.
KG_HOST_DEVICE uint32_t swizzled(Swizzle swizzle, uint32_t address) {
    const uint32_t chunks = span_bytes(swizzle) / 16u;
    return address ^ (((address >> 7) & (chunks - 1u)) << 4);
}

}  // namespace kinetograph::isa
