#pragma once

#include <cstdint>
#include <cstring>
#include <kinetograph/kernels/isa/target.hpp>

namespace kinetograph::conformance {

/// Rounds to nearest even; not for NaN.
KG_DEVICE uint32_t to_bfloat16(float value) {
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof(bits));
    return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

/// Two neighbours of a row as one word.
KG_DEVICE uint32_t to_bfloat16x2(float low, float high) { return to_bfloat16(low) | to_bfloat16(high) << 16; }

}  // namespace kinetograph::conformance
