#pragma once

#include <kinetograph/kernels/isa/element.hpp>
#include <kinetograph/kernels/isa/swizzle.hpp>

/// The bit fields by which matrix instructions find their operands in shared memory.
namespace kinetograph::isa {

/// The axis that is contiguous in an operand's tile. Chosen by the instruction, not by the descriptor.
enum class Major : uint8_t {
    K,   ///< [M or N][K]: a row is one span of K
    MN,  ///< [K][M or N]: a row is one span of M or N; 16-bit elements only
};

/// address       shared-memory address of the operand's first row, the k step included; multiple of 16
/// group_stride  bytes from one group of 8 rows to the next (SBO); 8 * span when rows are packed, a halo's pitch
///               otherwise
/// chunk_stride  bytes from one 16-byte column to the next (LBO); only without swizzle, else 16. Major::MN: from one
///               span of N to the next
/// base_offset stays 0: the XOR comes from the absolute address, so shifted starts need no correction.
struct OperandTile {
    uint32_t address;
    uint32_t group_stride;
    Swizzle swizzle;
    uint32_t chunk_stride = 16;
};

/// PTX ISA, asynchronous warpgroup level matrix shared memory layout, matrix descriptor: layout 1 = 128B, 2 = 64B, 3 =
/// 32B.
KG_HOST_DEVICE uint64_t wgmma_descriptor(const OperandTile& tile) {
    const uint64_t layout = tile.swizzle == Swizzle::None ? 0u : 4u - static_cast<uint64_t>(tile.swizzle);
    return (static_cast<uint64_t>(tile.address & 0x3ffffu) >> 4) |
           (static_cast<uint64_t>(tile.chunk_stride >> 4) << 16) |
           (static_cast<uint64_t>(tile.group_stride >> 4) << 32) | (layout << 62);
}

/// The descriptor of an operand that begins `bytes` later, a multiple of 16. One addition instead of the five
/// instructions of a new descriptor, which narrow products do not hide. Shared-memory addresses stay below 256 KiB, so
/// the sum never leaves the address field.
KG_HOST_DEVICE uint64_t advanced(uint64_t descriptor, uint32_t bytes) {
    const uint32_t low = static_cast<uint32_t>(descriptor) + (bytes >> 4);
    return (descriptor & 0xffffffff00000000ull) | low;
}

/// PTX ISA, tcgen05 shared memory descriptor: layout 2 = 128B, 4 = 64B, 6 = 32B; bits 46-48 are the constant 0b001.
KG_HOST_DEVICE uint64_t tcgen05_descriptor(const OperandTile& tile) {
    const uint64_t layout = tile.swizzle == Swizzle::None ? 0u : 2u * (4u - static_cast<uint64_t>(tile.swizzle));
    return (static_cast<uint64_t>(tile.address & 0x3ffffu) >> 4) |
           (static_cast<uint64_t>(tile.chunk_stride >> 4) << 16) |
           (static_cast<uint64_t>(tile.group_stride >> 4) << 32) | (1ull << 46) | (layout << 61);
}

/// PTX ISA, tcgen05 instruction descriptor, kinds f16 and f8f6f4, dense, fp32 accumulator, both operands K-major: F16,
/// BF16, F8E4M3, F8E5M2. m is the M of the whole instruction (256 for a pair of CTAs), n its N.
KG_HOST_DEVICE uint32_t tcgen05_instruction(Element a, Element b, uint32_t m, uint32_t n) {
    const uint32_t a_format = a == Element::BF16 || a == Element::F8E5M2 ? 1u : 0u;
    const uint32_t b_format = b == Element::BF16 || b == Element::F8E5M2 ? 1u : 0u;
    return (1u << 4) | (a_format << 7) | (b_format << 10) | ((n >> 3) << 17) | ((m >> 4) << 24);
}

}  // namespace kinetograph::isa
