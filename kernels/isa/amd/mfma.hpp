#pragma once

#include <kinetograph/kernels/isa/amd/lanes.hpp>
#include <kinetograph/kernels/isa/element.hpp>

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

/// sum += A * B in place, in accumulation registers: bf16 or fp16 operands of K = 32, or fp8 operands of K = 128. By
/// the built-in, the compiler gives every sum new registers and moves many sums back in a loop. It inserts no wait
/// states around inline assembly: call settle_products() before reading a sum, and write `a` and `b` only by loads (two
/// instructions would have to follow a vector instruction that writes them). Products keep their program order.
template <Element kType, class Operand>
KG_DEVICE void accumulate_product(Accumulator& sum, const Operand& a, const Operand& b) {
#if KG_HOST_MODEL
    if constexpr (kType == Element::F8E4M3) {
        sum = mfma_16x16x128_f8e4m3(a, b, sum);
    } else {
        sum = mfma_16x16x32<kType>(a, b, sum);
    }
#else
    if constexpr (kType == Element::BF16) {
        asm volatile("v_mfma_f32_16x16x32_bf16 %0, %1, %2, %0" : "+a"(sum) : "v"(a), "v"(b));
    } else if constexpr (kType == Element::F16) {
        asm volatile("v_mfma_f32_16x16x32_f16 %0, %1, %2, %0" : "+a"(sum) : "v"(a), "v"(b));
    } else {
        asm volatile("v_mfma_f32_16x16x128_f8f6f4 %0, %1, %2, %0" : "+a"(sum) : "v"(a), "v"(b));
    }
#endif
}

/// Sums of accumulate_product() may be read after this: 16 wait states, where the longest of those products needs 12
/// ("CDNA4 Instruction Set Architecture", Dependency resolution: required independent instructions; LLVM,
/// GCNHazardRecognizer).
KG_DEVICE void settle_products() {
#if !KG_HOST_MODEL
    __builtin_amdgcn_sched_barrier(0);
    asm volatile("s_nop 15");
    __builtin_amdgcn_sched_barrier(0);
#endif
}

/// The sum stays in accumulation registers until here: keeps the compiler from moving sums out of them all at once.
KG_DEVICE void keep_accumulated(Accumulator& sum) {
#if KG_HOST_MODEL
    static_cast<void>(sum);
#else
    asm volatile("" : "+a"(sum));
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
