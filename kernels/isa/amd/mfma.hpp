#pragma once

#include <kinetograph/kernels/conv/element.hpp>
#include <kinetograph/kernels/isa/amd/lanes.hpp>

/// Matrix products of one wave: D[16 x 16] = A[16 x K] * B[K x 16] + C, in fp32.
///
/// K = 32, bf16 or fp16: lane l holds of A row l % 16, of B column l % 16, elements k = 8 * (l / 16) + 0..7, lowest k
/// in the lowest bits. K = 128, fp8: two chunks of 16 elements, k = 16 * (l / 16) + 0..15 and 64 + 16 * (l / 16) +
/// 0..15. C and D: column l % 16, rows 4 * (l / 16) + 0..3. Sources: "CDNA4 Instruction Set Architecture" (Matrix
/// arithmetic); AMD, "Matrix Core Programming on AMD CDNA4".
namespace kinetograph::isa::amd {

using Accumulator = LaneVector<float, 4>;
/// 32 fp8 elements of each lane.
using Packed32 = LaneVector<uint32_t, 8>;

#if !KG_HOST_MODEL
namespace detail {
using Bf16x8 = __bf16 __attribute__((ext_vector_type(8)));
using Halfx8 = _Float16 __attribute__((ext_vector_type(8)));
using Intx8 = int __attribute__((ext_vector_type(8)));
}  // namespace detail
#endif

/// v_mfma_f32_16x16x32_bf16, v_mfma_f32_16x16x32_f16: 16 cycles.
template <Element kType>
KG_DEVICE Accumulator mfma_16x16x32(const Packed16& a, const Packed16& b, const Accumulator& c) {
    static_assert(kType == Element::BF16 || kType == Element::F16);
#if KG_HOST_MODEL
    Accumulator d = c;
    host_model::mfma_16x16x32(d.words[0].lane, a.words[0].lane, b.words[0].lane, kType == Element::BF16);
    return d;
#else
    if constexpr (kType == Element::BF16) {
        return __builtin_amdgcn_mfma_f32_16x16x32_bf16(__builtin_bit_cast(detail::Bf16x8, a),
                                                       __builtin_bit_cast(detail::Bf16x8, b), c, 0, 0, 0);
    } else {
        return __builtin_amdgcn_mfma_f32_16x16x32_f16(__builtin_bit_cast(detail::Halfx8, a),
                                                      __builtin_bit_cast(detail::Halfx8, b), c, 0, 0, 0);
    }
#endif
}

/// float32 operands, K = 4: lane l holds of A row l % 16, of B column l % 16, element k = l / 16.
/// v_mfma_f32_16x16x4_f32: 32 cycles.
KG_DEVICE Accumulator mfma_16x16x4_f32(const Lanes<float>& a, const Lanes<float>& b, const Accumulator& c) {
#if KG_HOST_MODEL
    Accumulator d = c;
    host_model::mfma_16x16x4_f32(d.words[0].lane, a.lane, b.lane);
    return d;
#else
    return __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, 0, 0, 0);
#endif
}

/// v_mfma_f32_16x16x128_f8f6f4 with both operands E4M3 and no scales: 32 cycles.
KG_DEVICE Accumulator mfma_16x16x128_f8e4m3(const Packed32& a, const Packed32& b, const Accumulator& c) {
#if KG_HOST_MODEL
    Accumulator d = c;
    host_model::mfma_16x16x128_f8e4m3(d.words[0].lane, a.words[0].lane, b.words[0].lane);
    return d;
#else
    return __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(__builtin_bit_cast(detail::Intx8, a),
                                                            __builtin_bit_cast(detail::Intx8, b), c, 0, 0, 0, 0, 0, 0);
#endif
}

/// Two 16-byte chunks as one operand of mfma_16x16x128_f8e4m3.
KG_DEVICE Packed32 join(const Packed16& low, const Packed16& high) {
#if KG_HOST_MODEL
    return {{low[0], low[1], low[2], low[3], high[0], high[1], high[2], high[3]}};
#else
    return __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7);
#endif
}

}  // namespace kinetograph::isa::amd
