#include <kinetograph/compute/conv/direct/avx512.hpp>
#include <kinetograph/compute/conv/direct/winograd_transform.hpp>

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

struct F32 {
    static constexpr std::int64_t kBytes = 4, kElements = 16;
    __m512 values;

    KINETOGRAPH_AVX512_INLINE static F32 load(std::uint32_t mask, const std::byte* from) {
        return {_mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from)};
    }
    KINETOGRAPH_AVX512_INLINE void store(std::uint32_t mask, std::byte* to) const {
        _mm512_mask_storeu_ps(to, static_cast<__mmask16>(mask), values);
    }
    KINETOGRAPH_AVX512_INLINE static F32 sum(const F32& a, const F32& b) { return {_mm512_add_ps(a.values, b.values)}; }
    KINETOGRAPH_AVX512_INLINE static F32 difference(const F32& a, const F32& b) {
        return {_mm512_sub_ps(a.values, b.values)};
    }
};

template <class Numbers>
KINETOGRAPH_AVX512 void transform(const FrameRows& rows) {
    // Frames of zeros are read with an empty mask, from any address that can be read.
    std::array<const std::byte*, 4> from{};
    std::array<std::uint32_t, 4> present{};
    for (std::size_t i = 0; i < 4; ++i) {
        present[i] = rows.input[i] == nullptr ? 0 : ~0U;
        from[i] = rows.input[i] == nullptr ? rows.output[i] : rows.input[i];
    }
    for (std::int64_t first = 0; first < rows.elements; first += Numbers::kElements) {
        const std::int64_t count = std::min(Numbers::kElements, rows.elements - first);
        const std::uint32_t mask = ~0U >> (32 - count);
        const std::int64_t at = first * Numbers::kBytes;
        const Numbers d0 = Numbers::load(mask & present[0], from[0] + at);
        const Numbers d1 = Numbers::load(mask & present[1], from[1] + at);
        const Numbers d2 = Numbers::load(mask & present[2], from[2] + at);
        const Numbers d3 = Numbers::load(mask & present[3], from[3] + at);
        Numbers::difference(d0, d2).store(mask, rows.output[kFirst] + at);
        Numbers::sum(d1, d2).store(mask, rows.output[kSum] + at);
        Numbers::difference(d2, d1).store(mask, rows.output[kDifference] + at);
        Numbers::difference(d3, d1).store(mask, rows.output[kSecond] + at);
    }
}

}  // namespace

KINETOGRAPH_AVX512 void combine_products(float* first, float* second, std::int64_t count) {
    for (std::int64_t i = 0; i < count; i += 16) {
        const __m512 sum = _mm512_load_ps(first + i), difference = _mm512_load_ps(second + i);
        _mm512_store_ps(first + i, _mm512_add_ps(sum, difference));
        _mm512_store_ps(second + i, _mm512_sub_ps(sum, difference));
    }
}

void transform_frames(const FrameRows& rows, bool bf16) { bf16 ? transform<Bf16>(rows) : transform<F32>(rows); }

}  // namespace kinetograph::conv::direct
