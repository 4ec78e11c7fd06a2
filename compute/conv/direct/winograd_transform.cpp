#include <kinetograph/compute/conv/cpu_clones.hpp>
#include <kinetograph/compute/conv/direct/avx512.hpp>
#include <kinetograph/compute/conv/direct/winograd_transform.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>

#include <algorithm>

namespace kinetograph::conv::direct {
namespace {

/// 32 bf16 numbers, widened: those in the lower and those in the upper halves of 16 words.
struct Bf16 {
    static constexpr std::int64_t kBytes = 2, kElements = 32;
    __m512 low, high;

    KINETOGRAPH_AVX512_INLINE static Bf16 load(std::uint32_t mask, const std::byte* from) {
        const __m512i words = _mm512_maskz_loadu_epi16(mask, from);
        return {_mm512_castsi512_ps(_mm512_slli_epi32(words, 16)),
                _mm512_castsi512_ps(_mm512_and_si512(words, _mm512_set1_epi32(static_cast<int>(0xFFFF0000U))))};
    }
    KINETOGRAPH_AVX512_INLINE void store(std::uint32_t mask, std::byte* to) const {
        const auto halves = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
        // 16 low numbers followed by 16 high ones become 16 pairs of (low, high).
        const __m512i pairs = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22,
                                               6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
        _mm512_mask_storeu_epi16(to, mask, _mm512_permutexvar_epi16(pairs, halves));
    }
    KINETOGRAPH_AVX512_INLINE static Bf16 sum(const Bf16& a, const Bf16& b) {
        return {_mm512_add_ps(a.low, b.low), _mm512_add_ps(a.high, b.high)};
    }
    KINETOGRAPH_AVX512_INLINE static Bf16 difference(const Bf16& a, const Bf16& b) {
        return {_mm512_sub_ps(a.low, b.low), _mm512_sub_ps(a.high, b.high)};
    }
};

KINETOGRAPH_AVX512 void transform_bf16(const FrameRows& rows) {
    // Frames of zeros are read with an empty mask, from any address that can be read.
    std::array<const std::byte*, 4> from{};
    std::array<std::uint32_t, 4> present{};
    for (std::size_t i = 0; i < 4; ++i) {
        present[i] = rows.input[i] == nullptr ? 0 : ~0U;
        from[i] = rows.input[i] == nullptr ? rows.output[i] : rows.input[i];
    }
    for (std::int64_t first = 0; first < rows.elements; first += Bf16::kElements) {
        const std::int64_t count = std::min(Bf16::kElements, rows.elements - first);
        const std::uint32_t mask = ~0U >> (32 - count);
        const std::int64_t at = first * Bf16::kBytes;
        const Bf16 d0 = Bf16::load(mask & present[0], from[0] + at);
        const Bf16 d1 = Bf16::load(mask & present[1], from[1] + at);
        const Bf16 d2 = Bf16::load(mask & present[2], from[2] + at);
        const Bf16 d3 = Bf16::load(mask & present[3], from[3] + at);
        Bf16::difference(d0, d2).store(mask, rows.output[kFirst] + at);
        Bf16::sum(d1, d2).store(mask, rows.output[kSum] + at);
        Bf16::difference(d2, d1).store(mask, rows.output[kDifference] + at);
        Bf16::difference(d3, d1).store(mask, rows.output[kSecond] + at);
    }
}

[[gnu::always_inline]] inline float widened(float value) { return value; }
[[gnu::always_inline]] inline float widened(std::uint16_t bits) { return tensor::from_bf16(bits); }

/// Elements that are transformed at a time, so that frames of zeros need no more of them.
constexpr std::int64_t kBlock = 1024;
template <class Stored>
alignas(64) constexpr std::array<Stored, kBlock> kZeros{};

template <class Stored>
[[gnu::always_inline]] inline void transform_to_f32(const FrameRows& rows) {
    for (std::int64_t first = 0; first < rows.elements; first += kBlock) {
        const auto from = [&](std::size_t i) {
            return rows.input[i] == nullptr ? kZeros<Stored>.data()
                                            : reinterpret_cast<const Stored*>(rows.input[i]) + first;
        };
        const auto to = [&](Product product) { return reinterpret_cast<float*>(rows.output[product]) + first; };
        const Stored *const d0 = from(0), *const d1 = from(1), *const d2 = from(2), *const d3 = from(3);
        float *const a = to(kFirst), *const b = to(kSum), *const c = to(kDifference), *const d = to(kSecond);
        const std::int64_t count = std::min(kBlock, rows.elements - first);
#pragma omp simd
        for (std::int64_t i = 0; i < count; ++i) {
            a[i] = widened(d0[i]) - widened(d2[i]);
            b[i] = widened(d1[i]) + widened(d2[i]);
            c[i] = widened(d2[i]) - widened(d1[i]);
            d[i] = widened(d3[i]) - widened(d1[i]);
        }
    }
}
constexpr CpuClones<transform_to_f32<float>> transform_f32;
constexpr CpuClones<transform_to_f32<std::uint16_t>> transform_widened;

[[gnu::always_inline]] inline void combine(float* first, float* second, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
        const float sum = first[i], difference = second[i];
        first[i] = sum + difference;
        second[i] = sum - difference;
    }
}

}  // namespace

void combine_products(float* first, float* second, std::int64_t count) { CpuClones<combine>()(first, second, count); }

void transform_frames(const FrameRows& rows, Element input, bool widened) {
    if (input == Element::F32) return transform_f32(rows);
    widened ? transform_widened(rows) : transform_bf16(rows);
}

}  // namespace kinetograph::conv::direct
