#include <kinetograph/compute/conv/direct/avx512.hpp>
#include <kinetograph/compute/conv/row_norm_avx512.hpp>
#include <kinetograph/engine/base/processor.hpp>

#include <cmath>

namespace kinetograph::conv {
namespace {

constexpr std::int64_t kLanes = 16;          // float32 numbers of a register
constexpr std::int64_t kWords = 2 * kLanes;  // bf16 numbers

KINETOGRAPH_AVX512_INLINE __m512 load_bf16(const std::byte* from) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

KINETOGRAPH_AVX512_INLINE void store_bf16(std::byte* to, __m512 values) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(values)));
}

/// x / (1 + 2^(-x log2 e)). 2^r for |r| <= 1/2 is a Taylor polynomial of degree 4 (error 4.2e-5), the reciprocal is
/// exact to 2^-14. NaN stays NaN.
KINETOGRAPH_AVX512_INLINE __m512 silu(__m512 x) {
    const __m512 limit = _mm512_set1_ps(126);
    // Both return their second operand where one is NaN.
    const __m512 t =
        _mm512_min_ps(limit, _mm512_max_ps(_mm512_set1_ps(-126), _mm512_mul_ps(x, _mm512_set1_ps(-1.44269504F))));
    const __m512 n = _mm512_roundscale_ps(t, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m512 r = _mm512_sub_ps(t, n);
    __m512 p = _mm512_fmadd_ps(r, _mm512_set1_ps(9.6181291e-3F), _mm512_set1_ps(5.5504109e-2F));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(2.4022651e-1F));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(6.9314718e-1F));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1));
    const __m512 denominator = _mm512_add_ps(_mm512_scalef_ps(p, n), _mm512_set1_ps(1));
    return _mm512_mul_ps(x, _mm512_rcp14_ps(denominator));
}

/// Stores bf16.
struct Bf16Store {
    static constexpr std::int64_t kBytes = 2;
    KINETOGRAPH_AVX512_INLINE void operator()(std::byte* to, __m512 value, std::int64_t) const {
        store_bf16(to, value);
    }
};

/// Stores U8. The conversion makes the smallest integer of a NaN.
struct ByteStore {
    static constexpr std::int64_t kBytes = 1;
    ByteGrid grid;
    KINETOGRAPH_AVX512_INLINE void operator()(std::byte* to, __m512 value, std::int64_t c) const {
        const __m512 scaled = _mm512_fmadd_ps(value, _mm512_loadu_ps(grid.factors + c), _mm512_set1_ps(grid.zero));
        const __m512i limited = _mm512_max_epi32(_mm512_cvtps_epi32(scaled), _mm512_setzero_si512());
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtusepi32_epi8(limited));
    }
};

template <bool kSilu, class Store>
KINETOGRAPH_AVX512 void norm_pixels(const std::byte* input, std::byte* output, const float* gamma, std::int64_t pixels,
                                    std::int64_t channels, Store store) {
    constexpr std::int64_t kBytes = Store::kBytes;
    const float root = std::sqrt(static_cast<float>(channels));
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel, input += 2 * channels, output += kBytes * channels) {
        __m512 squares = _mm512_setzero_ps();
        for (std::int64_t c = 0; c < channels; c += kWords) {
            const auto words = reinterpret_cast<__m512bh>(_mm512_loadu_si512(input + 2 * c));
            squares = _mm512_dpbf16_ps(squares, words, words);
        }
        const __m128 norm = _mm_sqrt_ss(_mm_set_ss(_mm512_reduce_add_ps(squares)));
        // The larger of the two; the norm, the second operand, if that is NaN.
        const __m128 divisor = _mm_max_ss(_mm_set_ss(1e-12F), norm);
        const __m512 factor = _mm512_broadcastss_ps(_mm_div_ss(_mm_set_ss(root), divisor));
        for (std::int64_t c = 0; c < channels; c += kLanes) {
            const __m512 scaled = _mm512_mul_ps(load_bf16(input + 2 * c), factor);
            const __m512 value = _mm512_mul_ps(scaled, _mm512_loadu_ps(gamma + c));
            store(output + kBytes * c, kSilu ? silu(value) : value, c);
        }
    }
}

}  // namespace

bool has_avx512_norm(std::int64_t channels) {
    return processor().uses >= InstructionSet::Avx512Bf16 && channels % kWords == 0;
}

void norm_bf16_avx512(const std::byte* input, std::byte* output, const float* gamma, std::int64_t pixels,
                      std::int64_t channels, Activation activation) {
    activation == Activation::Silu ? norm_pixels<true>(input, output, gamma, pixels, channels, Bf16Store{})
                                   : norm_pixels<false>(input, output, gamma, pixels, channels, Bf16Store{});
}

void norm_bf16_to_bytes_avx512(const std::byte* input, std::byte* output, const float* gamma, const ByteGrid& grid,
                               std::int64_t pixels, std::int64_t channels, Activation activation) {
    activation == Activation::Silu ? norm_pixels<true>(input, output, gamma, pixels, channels, ByteStore{grid})
                                   : norm_pixels<false>(input, output, gamma, pixels, channels, ByteStore{grid});
}

}  // namespace kinetograph::conv
