#pragma once

#include <cstdint>

namespace kinetograph::gfx950 {

/// Division by a number that only the host knows in advance: the cost of two multiplications instead of thirty
/// instructions. Exact for dividends below 2^31. Source: Granlund and Montgomery 1994, "Division by Invariant Integers
/// using Multiplication".
struct FastDivisor {
    uint32_t divisor, magic, shift;

    /// `divisor` from 1 to 2^31 - 1.
    static constexpr FastDivisor of(uint32_t divisor) {
        uint32_t shift = 0;
        while ((uint64_t{1} << shift) < divisor) ++shift;
        const uint64_t power = uint64_t{1} << (31 + shift);
        return {divisor, static_cast<uint32_t>((power + divisor - 1) / divisor), shift};
    }
    /// What the device computes, with mul_hi for the product.
    constexpr uint32_t quotient(uint32_t dividend) const {
        return static_cast<uint32_t>((uint64_t{dividend << 1} * magic) >> 32) >> shift;
    }
};

}  // namespace kinetograph::gfx950
