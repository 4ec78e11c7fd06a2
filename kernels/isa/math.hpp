#pragma once

#include <kinetograph/kernels/isa/target.hpp>
#if KG_HOST_MODEL
#include <cmath>
#endif

/// Functions of one float; on the chip the fast forms, good to a few units in the last place.
namespace kinetograph::isa {

/// 1 / sqrt(value). PTX ISA, rsqrt.approx: one instruction, subnormal values are zero.
KG_DEVICE float inverse_square_root(float value) {
#if KG_HOST_MODEL
    return 1.0f / std::sqrt(value);
#else
    float root;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(root) : "f"(value));
    return root;
#endif
}

/// e^value. PTX ISA, ex2.approx.
KG_DEVICE float exponential(float value) {
#if KG_HOST_MODEL
    return std::exp(value);
#else
    return __expf(value);
#endif
}

/// 2^value. PTX ISA, ex2.approx: one instruction, subnormal results are zero.
KG_DEVICE float power_of_two(float value) {
#if KG_HOST_MODEL
    return std::exp2(value);
#else
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(value));
    return power;
#endif
}

/// 1 - 2 / (1 + e^(2 value)): the error is absolute, about 2^-22.
KG_DEVICE float tanh(float value) {
#if KG_HOST_MODEL
    return std::tanh(value);
#else
    constexpr float kTwoLog2E = 2.8853900817779268f;
    float power, inverse;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(value * kTwoLog2E));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(1.0f + power));
    return 1.0f - 2.0f * inverse;
#endif
}

/// What RMS norm multiplies a pixel's channels by: sqrt(channels) over their length, at least 1e-12, of which `squares`
/// is the square.
KG_DEVICE float norm_scale(float squares, float sqrt_channels) {
    const float inverse = inverse_square_root(squares);
    return sqrt_channels * (inverse < 1e12f ? inverse : 1e12f);
}

/// value * negative_slope below zero, otherwise value; a slope of 0 makes it ReLU. NaN stays NaN.
KG_DEVICE float leaky_relu(float value, float negative_slope) { return value < 0.0f ? value * negative_slope : value; }

/// value / (1 + e^-value). PTX ISA, ex2.approx, rcp.approx: five instructions, subnormal exponentials count as zero.
KG_DEVICE float silu(float value) {
#if KG_HOST_MODEL
    return value / (1.0f + std::exp(-value));
#else
    constexpr float kMinusLog2E = -1.4426950408889634f;
    float power, inverse;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(value * kMinusLog2E));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(1.0f + power));
    return value * inverse;
#endif
}

/// silu(), within 2^-12 * |value|, by one special function in place of two: for results of 8 bits. PTX ISA, tanh.
KG_DEVICE float silu_of_8_bits(float value) {
#if KG_HOST_MODEL
    return silu(value);
#else
    const float half = 0.5f * value;
    float tangent;
    asm("tanh.approx.f32 %0, %1;" : "=f"(tangent) : "f"(half));
    return half * tangent + half;
#endif
}

}  // namespace kinetograph::isa
