#pragma once

#include <bit>
#include <cstdint>

/// Small float formats as bits, one value at a time, for the host: what the device's conversions do.
/// To nearest, ties to even. Source: OCP 8-bit Floating Point Specification 1.0 (E4M3, E5M2); IEEE 754 (half).
namespace kinetograph::isa::amd {

constexpr uint32_t to_bf16(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    return (bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16) | 0x40u : rounded;
}
constexpr float from_bf16(uint32_t bits) { return std::bit_cast<float>(bits << 16); }

/// 65520 and above become infinity.
constexpr uint32_t to_f16(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return sign | 0x7e00u;
    if (magnitude >= 0x477ff000u) return sign | 0x7c00u;
    if (magnitude < 0x38800000u) {  // 2^-14: half's denormals are multiples of 2^-24, the ulp of 0.5
        return sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u);
    }
    return sign | (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
}
constexpr float from_f16(uint32_t bits) {
    const uint32_t sign = (bits & 0x8000u) << 16, magnitude = (bits & 0x7fffu) << 13;
    if ((bits & 0x7c00u) == 0x7c00u) return std::bit_cast<float>(sign | magnitude | 0x7f800000u);
    if ((bits & 0x7c00u) == 0) {
        return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(static_cast<float>(bits & 0x3ffu) * 0x1p-24f));
    }
    return std::bit_cast<float>(sign | (magnitude + (112u << 23)));
}

/// Saturates to +-448; 0x7f and 0xff are NaN.
constexpr uint32_t to_f8e4m3(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (bits >> 24) & 0x80u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return sign | 0x7fu;
    if (magnitude >= 0x43e00000u) return sign | 0x7eu;  // 448
    if (magnitude < 0x3c800000u) {                      // 2^-6: denormals are multiples of 2^-9, the ulp of 2^14
        return sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0x1p14f) - 0x46800000u);
    }
    return sign | (magnitude - (120u << 23) + 0x7ffffu + ((magnitude >> 20) & 1u)) >> 20;
}
constexpr float from_f8e4m3(uint32_t bits) {
    const uint32_t sign = (bits & 0x80u) << 24, magnitude = bits & 0x7fu;
    if (magnitude == 0x7fu) return std::bit_cast<float>(sign | 0x7fc00000u);
    if (magnitude < 8) {
        return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-9f));
    }
    return std::bit_cast<float>(sign | ((magnitude << 20) + (120u << 23)));
}

/// The upper half of a half; saturates to +-57344, as cvt.rn.satfinite does.
constexpr uint32_t to_f8e5m2(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (bits >> 24) & 0x80u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return sign | 0x7fu;
    if (magnitude >= 0x47600000u) return sign | 0x7bu;  // 57344
    if (magnitude < 0x38800000u) {                      // 2^-14: denormals are multiples of 2^-16, the ulp of 2^7
        return sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0x1p7f) - 0x43000000u);
    }
    return sign | (magnitude - (112u << 23) + 0xfffffu + ((magnitude >> 21) & 1u)) >> 21;
}
constexpr float from_f8e5m2(uint32_t bits) { return from_f16((bits & 0xffu) << 8); }

}  // namespace kinetograph::isa::amd
