#pragma once

#include <kinetograph/kernels/isa/amd/lanes.hpp>
#if KG_HOST_MODEL
#include <cmath>
#include <kinetograph/kernels/isa/amd/small_floats.hpp>
#endif

/// Lane-wise arithmetic beyond the operators, and the conversions of small float formats.
/// Sources: "CDNA4 Instruction Set Architecture" (VOP1, VOP3); OCP 8-bit Floating Point Specification 1.0 (E4M3).
namespace kinetograph::isa::amd {

/// On the host: applies what the instruction does in one lane to all of them.
#if KG_HOST_MODEL
namespace detail {
template <class To, class From, class Function>
Lanes<To> each_lane(const Lanes<From>& value, Function function) {
    Lanes<To> result;
    for (uint32_t i = 0; i < kWaveLanes; ++i) result.lane[i] = function(value.lane[i]);
    return result;
}
template <class To, class From, class Function>
Lanes<To> each_lane(const Lanes<From>& a, const Lanes<From>& b, Function function) {
    Lanes<To> result;
    for (uint32_t i = 0; i < kWaveLanes; ++i) result.lane[i] = function(a.lane[i], b.lane[i]);
    return result;
}
}  // namespace detail
#endif

/// 2^x, to about 1 ulp; denormal results are flushed to zero. v_exp_f32.
KG_DEVICE Lanes<float> exp2(const Lanes<float>& x) {
#if KG_HOST_MODEL
    return detail::each_lane<float>(x, [](float v) { return std::exp2(v); });
#else
    return __builtin_amdgcn_exp2f(x);
#endif
}
/// 1 / x and 1 / sqrt(x), to 1 ulp. v_rcp_f32, v_rsq_f32.
KG_DEVICE Lanes<float> reciprocal(const Lanes<float>& x) {
#if KG_HOST_MODEL
    return detail::each_lane<float>(x, [](float v) { return 1.0f / v; });
#else
    return __builtin_amdgcn_rcpf(x);
#endif
}
KG_DEVICE Lanes<float> reciprocal_sqrt(const Lanes<float>& x) {
#if KG_HOST_MODEL
    return detail::each_lane<float>(x, [](float v) { return 1.0f / std::sqrt(v); });
#else
    return __builtin_amdgcn_rsqf(x);
#endif
}
/// a * b + c, rounded once. v_fma_f32.
KG_DEVICE Lanes<float> fma(const Lanes<float>& a, const Lanes<float>& b, const Lanes<float>& c) {
#if KG_HOST_MODEL
    return a * b + c;
#else
    return __builtin_fmaf(a, b, c);
#endif
}

/// The larger, the smaller. v_max_f32, v_min_f32, v_max_u32 ...
template <class T>
KG_DEVICE Lanes<T> max(const Lanes<T>& a, const Lanes<T>& b) {
#if KG_HOST_MODEL
    return detail::each_lane<T>(a, b, [](T x, T y) { return x < y ? y : x; });
#else
    return a < b ? b : a;
#endif
}
template <class T>
KG_DEVICE Lanes<T> min(const Lanes<T>& a, const Lanes<T>& b) {
#if KG_HOST_MODEL
    return detail::each_lane<T>(a, b, [](T x, T y) { return y < x ? y : x; });
#else
    return b < a ? b : a;
#endif
}

/// The upper 32 bits of the product. v_mul_hi_u32.
KG_DEVICE Lanes<uint32_t> mul_hi(const Lanes<uint32_t>& a, const Lanes<uint32_t>& b) {
#if KG_HOST_MODEL
    return detail::each_lane<uint32_t>(
        a, b, [](uint32_t x, uint32_t y) { return static_cast<uint32_t>((uint64_t{x} * y) >> 32); });
#else
    return static_cast<uint32_t>((static_cast<uint64_t>(a) * b) >> 32);
#endif
}

#if !KG_HOST_MODEL
namespace detail {
using Float2 = float __attribute__((ext_vector_type(2)));
using Bf16x2 = __bf16 __attribute__((ext_vector_type(2)));
using Halfx2 = _Float16 __attribute__((ext_vector_type(2)));
}  // namespace detail
#endif

/// Two floats as 16-bit elements, `low` in bits 0..15, to nearest even. v_cvt_pk_bf16_f32; v_cvt_f16_f32 twice.
KG_DEVICE Lanes<uint32_t> pack_bf16(const Lanes<float>& low, const Lanes<float>& high) {
#if KG_HOST_MODEL
    return detail::each_lane<uint32_t>(low, high, [](float x, float y) { return to_bf16(x) | to_bf16(y) << 16; });
#else
    return __builtin_bit_cast(uint32_t, __builtin_convertvector(detail::Float2{low, high}, detail::Bf16x2));
#endif
}
KG_DEVICE Lanes<uint32_t> pack_f16(const Lanes<float>& low, const Lanes<float>& high) {
#if KG_HOST_MODEL
    return detail::each_lane<uint32_t>(low, high, [](float x, float y) { return to_f16(x) | to_f16(y) << 16; });
#else
    return __builtin_bit_cast(uint32_t, __builtin_convertvector(detail::Float2{low, high}, detail::Halfx2));
#endif
}

/// The element in bits 0..15, or 16..31, as a float. v_lshlrev_b32, v_and_b32; v_cvt_f32_f16.
KG_DEVICE Lanes<float> low_bf16(const Lanes<uint32_t>& packed) { return bits_as<float>(packed << 16u); }
KG_DEVICE Lanes<float> high_bf16(const Lanes<uint32_t>& packed) { return bits_as<float>(packed & 0xffff0000u); }
KG_DEVICE Lanes<float> low_f16(const Lanes<uint32_t>& packed) {
#if KG_HOST_MODEL
    return detail::each_lane<float>(packed, [](uint32_t v) { return from_f16(v & 0xffffu); });
#else
    return static_cast<float>(__builtin_bit_cast(_Float16, static_cast<unsigned short>(packed)));
#endif
}
KG_DEVICE Lanes<float> high_f16(const Lanes<uint32_t>& packed) { return low_f16(packed >> 16u); }

/// Four floats as fp8 E4M3, the first in bits 0..7, to nearest even, saturated to +-448. v_med3_f32, v_cvt_pk_fp8_f32.
KG_DEVICE Lanes<uint32_t> pack_f8e4m3(const Lanes<float>& a, const Lanes<float>& b, const Lanes<float>& c,
                                      const Lanes<float>& d) {
#if KG_HOST_MODEL
    Lanes<uint32_t> result;
    for (uint32_t i = 0; i < kWaveLanes; ++i) {
        result.lane[i] =
            to_f8e4m3(a.lane[i]) | to_f8e4m3(b.lane[i]) << 8 | to_f8e4m3(c.lane[i]) << 16 | to_f8e4m3(d.lane[i]) << 24;
    }
    return result;
#else
    const auto clamp = [](float x) { return __builtin_amdgcn_fmed3f(x, -448.0f, 448.0f); };
    const int low = __builtin_amdgcn_cvt_pk_fp8_f32(clamp(a), clamp(b), 0, false);
    return static_cast<uint32_t>(__builtin_amdgcn_cvt_pk_fp8_f32(clamp(c), clamp(d), low, true));
#endif
}

/// 1 - 2 / (1 + e^(2 x)): the error is absolute, about 2^-22.
KG_DEVICE Lanes<float> tanh(const Lanes<float>& x) {
    constexpr float kTwoLog2E = 2.88539008f;
    return reciprocal(exp2(x * kTwoLog2E) + 1.0f) * -2.0f + 1.0f;
}

/// max(x, least); NaN stays NaN.
KG_DEVICE Lanes<float> at_least(const Lanes<float>& x, float least) { return select<float>(x < least, least, x); }

/// x * negative_slope below zero, otherwise x; a slope of 0 makes it ReLU. NaN stays NaN.
KG_DEVICE Lanes<float> leaky_relu(const Lanes<float>& x, float negative_slope) {
    return select<float>(x < 0.0f, x * negative_slope, x);
}

/// x / (1 + e^-x).
KG_DEVICE Lanes<float> silu(const Lanes<float>& x) {
    constexpr float kLog2E = 1.44269504f;
    return x * reciprocal(exp2(x * -kLog2E) + 1.0f);
}

}  // namespace kinetograph::isa::amd
