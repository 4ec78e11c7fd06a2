// Registers of float32 numbers: the same operations on AVX2's and on AVX-512's, for loops with the set as a parameter.
#pragma once

#include <kinetograph/compute/conv/direct/avx512.hpp>

#include <cstddef>
#include <cstdint>

#define KINETOGRAPH_AVX2 [[gnu::target("avx2,fma")]]
#define KINETOGRAPH_AVX2_INLINE KINETOGRAPH_AVX2 [[gnu::always_inline]] inline

namespace kinetograph::conv::direct {

struct Avx2 {
    using Floats = __m256;
    static constexpr int kLanes = 8;
    static constexpr int kSums = 12;  ///< registers for sums, of 16: three are left for filter and pixel

    KINETOGRAPH_AVX2_INLINE static Floats zeros() { return _mm256_setzero_ps(); }
    KINETOGRAPH_AVX2_INLINE static Floats load(const void* from) {
        return _mm256_loadu_ps(static_cast<const float*>(from));
    }
    KINETOGRAPH_AVX2_INLINE static Floats load_bf16(const void* from) {
        const __m128i halves = _mm_loadu_si128(static_cast<const __m128i*>(from));
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
    }
    KINETOGRAPH_AVX2_INLINE static void store(float* to, Floats values) { _mm256_storeu_ps(to, values); }
    KINETOGRAPH_AVX2_INLINE static Floats broadcast(const std::byte* word) {
        return _mm256_broadcast_ss(reinterpret_cast<const float*>(word));
    }
    KINETOGRAPH_AVX2_INLINE static Floats multiply_add(Floats sum, Floats a, Floats b) {
        return _mm256_fmadd_ps(a, b, sum);
    }
    /// The first `words` lanes, zeros beyond.
    KINETOGRAPH_AVX2_INLINE static Floats load_part(const std::byte* from, std::int64_t words) {
        const __m256i lane = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
        const auto count = static_cast<int>(words < kLanes ? words : kLanes);
        const __m256i inside = _mm256_cmpgt_epi32(_mm256_set1_epi32(count), lane);
        return _mm256_maskload_ps(reinterpret_cast<const float*>(from), inside);
    }
    KINETOGRAPH_AVX2_INLINE static float sum(Floats values) {
        const __m128 four = _mm_add_ps(_mm256_castps256_ps128(values), _mm256_extractf128_ps(values, 1));
        const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
    }
};

struct Avx512 {
    using Floats = __m512;
    static constexpr int kLanes = 16;
    static constexpr int kSums = 24;  ///< of 32 registers

    KINETOGRAPH_AVX512_INLINE static Floats zeros() { return _mm512_setzero_ps(); }
    KINETOGRAPH_AVX512_INLINE static Floats load(const void* from) { return _mm512_loadu_ps(from); }
    KINETOGRAPH_AVX512_INLINE static Floats load_bf16(const void* from) {
        const __m256i halves = _mm256_loadu_si256(static_cast<const __m256i*>(from));
        return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
    }
    KINETOGRAPH_AVX512_INLINE static void store(float* to, Floats values) { _mm512_storeu_ps(to, values); }
    KINETOGRAPH_AVX512_INLINE static Floats broadcast(const std::byte* word) {
        return _mm512_set1_ps(*reinterpret_cast<const float*>(word));
    }
    KINETOGRAPH_AVX512_INLINE static Floats multiply_add(Floats sum, Floats a, Floats b) {
        return _mm512_fmadd_ps(a, b, sum);
    }
    /// The first `words` lanes, zeros beyond.
    KINETOGRAPH_AVX512_INLINE static Floats load_part(const std::byte* from, std::int64_t words) {
        return _mm512_maskz_loadu_ps(static_cast<__mmask16>(words >= kLanes ? 0xFFFF : (1 << words) - 1), from);
    }
    KINETOGRAPH_AVX512_INLINE static float sum(Floats values) { return _mm512_reduce_add_ps(values); }
};

}  // namespace kinetograph::conv::direct
