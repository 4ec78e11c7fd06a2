// exp and SiLU in float32 arithmetic without branches, so that loops over them are vectorised.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace kinetograph::conv {

/// e^x to about two units in the last place for x in [-87, 88]. Other x are clamped to that range; NaN gives the value
/// at one of its ends. Source: Cody-Waite reduction by ln 2 in two parts and the Taylor polynomial of degree 7 on
/// [-ln2/2, ln2/2].
[[gnu::always_inline]] inline float fast_exp(float x) {
    const float clamped = std::min(88.0F, std::max(-87.0F, x));
    constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer in the low mantissa bits
    const float shifted = clamped * 1.44269504F + kRound;
    const float n = shifted - kRound;
    float r = clamped - n * 0.693359375F;  // ln 2 in nine bits: exact
    r = r + n * 2.12194440e-4F;
    float p = 1.98412698e-4F;
    p = p * r + 1.38888889e-3F;
    p = p * r + 8.33333333e-3F;
    p = p * r + 4.16666667e-2F;
    p = p * r + 1.66666667e-1F;
    p = p * r + 0.5F;
    p = p * r + 1.0F;
    p = p * r + 1.0F;
    const std::uint32_t exponent = (std::bit_cast<std::uint32_t>(shifted) << 23U) + 0x3F800000U;
    return p * std::bit_cast<float>(exponent);
}

/// x / (1 + e^-x); NaN stays NaN.
[[gnu::always_inline]] inline float fast_silu(float x) { return x / (1.0F + fast_exp(-x)); }

}  // namespace kinetograph::conv
