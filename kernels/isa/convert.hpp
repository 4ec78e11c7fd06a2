#pragma once

#include <cstring>
#include <kinetograph/kernels/isa/element.hpp>
#include <kinetograph/kernels/isa/target.hpp>

/// Conversion between stored numbers (bf16, fp16, fp32) and fp32, two or one to a 32-bit word, rounded to nearest even.
/// PTX ISA, cvt.
namespace kinetograph::isa {

/// The bits of a float as a word, and back.
KG_DEVICE uint32_t bits_of(float value) {
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}
KG_DEVICE float float_of(uint32_t bits) {
    float value = 0;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

#if KG_HOST_MODEL
/// Round to nearest even; NaN stays NaN.
inline uint32_t bfloat16_bits(float value) {
    const uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return bits >> 16 | 0x40u;
    return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}
inline uint32_t float16_bits(float value) {
    const uint32_t bits = bits_of(value);
    const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return sign | 0x7e00u;
    if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // 65520 and more round to infinity
    if (magnitude < 0x38800000u) {                        // subnormal: adding 0.5 aligns the mantissa at 2^-24
        return sign | (bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u);
    }
    return sign | (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
}
inline float from_float16(uint32_t bits) {
    const uint32_t sign = (bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
    if (magnitude >= 0x7c00u) return float_of(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    // 2^112 rescales the exponent; it is a power of two, so subnormals are exact.
    return float_of(sign | bits_of(float_of(magnitude << 13) * 5.192296858534828e+33f));
}
#endif

/// Numbers of one 32-bit word.
KG_HOST_DEVICE uint32_t word_values(Element value) { return value == Element::F32 ? 1u : 2u; }

/// One word of `kValue`s from word_values floats, the first in the low bits.
template <Element kValue>
KG_DEVICE uint32_t pack_word(const float* values) {
    if constexpr (kValue == Element::F32) return bits_of(values[0]);
#if KG_HOST_MODEL
    if constexpr (kValue == Element::BF16) return bfloat16_bits(values[0]) | bfloat16_bits(values[1]) << 16;
    if constexpr (kValue == Element::F16) return float16_bits(values[0]) | float16_bits(values[1]) << 16;
#else
    uint32_t word = 0;
    if constexpr (kValue == Element::BF16)
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(values[1]), "f"(values[0]));
    if constexpr (kValue == Element::F16)
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(values[1]), "f"(values[0]));
    return word;
#endif
}

template <Element kValue>
KG_DEVICE void unpack_word(uint32_t word, float* values) {
    if constexpr (kValue == Element::F32) values[0] = float_of(word);
    if constexpr (kValue == Element::BF16) {
        values[0] = float_of(word << 16);
        values[1] = float_of(word & 0xffff0000u);
    }
    if constexpr (kValue == Element::F16) {
#if KG_HOST_MODEL
        values[0] = from_float16(word & 0xffffu);
        values[1] = from_float16(word >> 16);
#else
        asm("{\n.reg .b16 low, high;\nmov.b32 {low, high}, %2;\ncvt.f32.f16 %0, low;\ncvt.f32.f16 %1, high;\n}"
            : "=f"(values[0]), "=f"(values[1])
            : "r"(word));
#endif
    }
}

/// Two bytes, the first in the low bits: each value rounded to the nearest even integer and limited to 0 ... 255; NaN
/// becomes 0. PTX ISA, cvt.rni, cvt.pack.sat.u8.
KG_DEVICE uint16_t pack_bytes(float first, float second) {
#if KG_HOST_MODEL
    const auto byte = [](float value) {
        if (!(value > 0)) return 0u;
        if (value >= 255) return 255u;
        return bits_of(value + 12582912.0f) & 0xffu;  // 1.5 * 2^23: the sum rounds to an integer
    };
    return static_cast<uint16_t>(byte(first) | byte(second) << 8);
#else
    uint32_t bytes = 0;
    asm("{\n.reg .s32 low, high;\ncvt.rni.s32.f32 low, %1;\ncvt.rni.s32.f32 high, %2;\n"
        "cvt.pack.sat.u8.s32.b32 %0, high, low, 0;\n}"
        : "=r"(bytes)
        : "f"(first), "f"(second));
    return static_cast<uint16_t>(bytes);
#endif
}

}  // namespace kinetograph::isa
