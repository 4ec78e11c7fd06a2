// Small float formats as bits: bfloat16, IEEE half, OCP FP8 E4M3 and E5M2, one value at a time. Mostly integer
// arithmetic, and never an operation on a float32 denormal, so the results do not depend on the flush-to-zero modes
// that engines often set. The loops of tensor.cpp rely on these functions having no branches.
#pragma once

#include <bit>
#include <cstdint>

namespace kinetograph::tensor {

/// Round to nearest, ties to even; a NaN keeps its sign and top payload bits and becomes quiet.
inline std::uint16_t to_bf16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U;
    const std::uint32_t quiet = (bits >> 16U) | 0x40U;
    return static_cast<std::uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? quiet : rounded);
}

/// Exact.
inline float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U); }

/// Round to nearest, ties to even, through half's denormals; 65520 and above become infinity; NaN as in to_bf16.
inline std::uint16_t to_f16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16U) & 0x8000U;
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    // 0.5f has an ulp of 2^-24, half's smallest denormal: the addition rounds to a multiple of it.
    const std::uint32_t tiny = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F000000U;
    // Moves the exponent's bias from 127 to 15; a carry out of the mantissa increments the exponent, up to infinity.
    const std::uint32_t normal = (magnitude - (112U << 23U) + 0xFFFU + ((magnitude >> 13U) & 1U)) >> 13U;
    const std::uint32_t quiet = 0x7E00U | ((magnitude >> 13U) & 0x3FFU);
    std::uint32_t half = magnitude < 0x38800000U ? tiny : normal;  // 2^-14: half's smallest normal number
    half = magnitude >= 0x47800000U ? 0x7C00U : half;              // 2^16
    half = magnitude > 0x7F800000U ? quiet : half;
    return static_cast<std::uint16_t>(sign | half);
}

/// Exact.
inline float from_f16(std::uint16_t bits) {
    const std::uint32_t sign = (bits & 0x8000U) << 16U;
    const std::uint32_t exponent = bits & 0x7C00U;
    const std::uint32_t shifted = (bits & 0x7FFFU) << 13U;
    constexpr std::uint32_t kBias = 112U << 23U;            // 127 - 15
    constexpr std::uint32_t kSmallestNormal = 113U << 23U;  // 2^-14
    const float tiny = std::bit_cast<float>(shifted + kSmallestNormal) - std::bit_cast<float>(kSmallestNormal);
    std::uint32_t magnitude = shifted + kBias;
    magnitude = exponent == 0x7C00U ? shifted + 2U * kBias : magnitude;  // infinity and NaN keep an all-ones exponent
    magnitude = exponent == 0 ? std::bit_cast<std::uint32_t>(tiny) : magnitude;
    return std::bit_cast<float>(sign | magnitude);
}

/// Exact. Four exponent bits (bias 7), three mantissa bits, no infinity; 0x7F and 0xFF are NaN.
/// Source      OCP 8-bit Floating Point Specification 1.0, E4M3
inline float from_f8e4m3(std::uint8_t bits) {
    const std::uint32_t sign = (bits & 0x80U) << 24U;
    const std::uint32_t magnitude = bits & 0x7FU;
    if (magnitude == 0x7FU) return std::bit_cast<float>(sign | 0x7FC00000U);
    if (magnitude < 8U) {
        const float tiny = static_cast<float>(magnitude) * 0x1p-9F;
        return sign != 0 ? -tiny : tiny;
    }
    return std::bit_cast<float>(sign | ((magnitude << 20U) + (120U << 23U)));  // 127 - 7
}

/// Round to nearest, ties to even, through the format's denormals; saturates at 448, NaN becomes 0x7F with the sign.
/// Source      OCP 8-bit Floating Point Specification 1.0, section 5.2.3, saturating mode
inline std::uint8_t to_f8e4m3(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 24U) & 0x80U;
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U) return static_cast<std::uint8_t>(sign | 0x7FU);
    if (magnitude >= 0x43E80000U)
        return static_cast<std::uint8_t>(sign | 0x7EU);  // 464: half-way to 480, which the format lacks
    // 2^14 has an ulp of 2^-9, the format's smallest denormal: the addition rounds to a multiple of it.
    const std::uint32_t tiny = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0x1p14F) - 0x46800000U;
    const std::uint32_t normal = (magnitude - (120U << 23U) + 0x7FFFFU + ((magnitude >> 20U) & 1U)) >> 20U;
    return static_cast<std::uint8_t>(sign | (magnitude < 0x3C800000U ? tiny : normal));  // 2^-6: smallest normal
}

/// Exact. The upper half of an IEEE half.
/// Source      OCP 8-bit Floating Point Specification 1.0, E5M2
inline float from_f8e5m2(std::uint8_t bits) { return from_f16(static_cast<std::uint16_t>(bits << 8U)); }

/// Round to nearest, ties to even, through the format's denormals; saturates at 57344, NaN becomes 0x7F with the sign.
/// Source      OCP 8-bit Floating Point Specification 1.0, section 5.2.3, saturating mode
inline std::uint8_t to_f8e5m2(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 24U) & 0x80U;
    const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
    if (magnitude > 0x7F800000U) return static_cast<std::uint8_t>(sign | 0x7FU);
    if (magnitude >= 0x47600000U) return static_cast<std::uint8_t>(sign | 0x7BU);  // 57344, the largest
    // 2^7 has an ulp of 2^-16, the format's smallest denormal: the addition rounds to a multiple of it.
    const std::uint32_t tiny = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0x1p7F) - 0x43000000U;
    const std::uint32_t normal = (magnitude - (112U << 23U) + 0xFFFFFU + ((magnitude >> 21U) & 1U)) >> 21U;
    return static_cast<std::uint8_t>(sign | (magnitude < 0x38800000U ? tiny : normal));  // 2^-14: smallest normal
}

}  // namespace kinetograph::tensor
