#include <kinetograph/compute/conv/cpu_clones.hpp>
#include <kinetograph/compute/conv/direct/avx512.hpp>
#include <kinetograph/compute/conv/epilogue.hpp>
#include <kinetograph/compute/conv/fast_exp.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>

#include <bit>

namespace kinetograph::conv {
namespace {

[[gnu::always_inline]] inline float widen(float value) { return value; }
[[gnu::always_inline]] inline float widen(std::uint16_t bits) { return tensor::from_bf16(bits); }
[[gnu::always_inline]] inline void store(float& to, float value) { to = value; }
[[gnu::always_inline]] inline void store(std::uint16_t& to, float value) { to = tensor::to_bf16(value); }

/// By the sign as a mask: a comparison would become a branch, as the product may trap, and keep the loop scalar.
[[gnu::always_inline]] inline float relu(float value, float negative_slope) {
    const auto bits = std::bit_cast<std::int32_t>(value), below = std::bit_cast<std::int32_t>(value * negative_slope);
    const std::int32_t negative = bits >> 31;
    return std::bit_cast<float>((below & negative) | (bits & ~negative));
}

/// The sum of channel `c` before the bias.
template <bool kIntegers>
[[gnu::always_inline]] inline float sum_of(const EpilogueSpan& span, const float* sums, std::int64_t c) {
    if constexpr (!kIntegers) return sums[c];
    const std::uint32_t sum = std::bit_cast<std::uint32_t>(sums[c]) - static_cast<std::uint32_t>(span.offsets[c]);
    return static_cast<float>(static_cast<std::int32_t>(sum)) * span.factors[c];
}

/// Channels [first, first + count) of a pixel.
template <class T, Activation kActivation, bool kResidual, bool kIntegers>
[[gnu::always_inline]] inline void finish_channels(const EpilogueSpan& span, std::int64_t pixel, std::int64_t first,
                                                   std::int64_t count) {
    const float* sums = span.sums + pixel * span.sums_pitch;
    const T* residual = reinterpret_cast<const T*>(span.residual) + (kResidual ? pixel * span.pixel_pitch : 0);
    T* output = reinterpret_cast<T*>(span.output) + pixel * span.pixel_pitch;
    const float* bias = span.bias;
    const float beta = span.beta;
    const float negative_slope = span.negative_slope;
#pragma omp simd
    for (std::int64_t c = first; c < first + count; ++c) {
        float value = sum_of<kIntegers>(span, sums, c) + bias[c];
        if constexpr (kActivation == Activation::Silu) value = fast_silu(value);
        if constexpr (kResidual) value += beta * widen(residual[c]);
        if constexpr (kActivation == Activation::Relu) value = relu(value, negative_slope);
        store(output[c], value);
    }
}

/// 16 channels at a time, for which the compiler unrolls the loop: a block of a tile has often no more.
template <class T, Activation kActivation, bool kResidual, bool kIntegers>
[[gnu::always_inline]] inline void finish_pixels(const EpilogueSpan& span) {
    constexpr std::int64_t kEach = 16;
    const std::int64_t whole = span.channels / kEach * kEach;
    for (std::int64_t pixel = 0; pixel < span.pixels; ++pixel) {
        for (std::int64_t c = 0; c < whole; c += kEach)
            finish_channels<T, kActivation, kResidual, kIntegers>(span, pixel, c, kEach);
        if (whole < span.channels)
            finish_channels<T, kActivation, kResidual, kIntegers>(span, pixel, whole, span.channels - whole);
    }
}

template <class T, Activation kActivation>
[[gnu::always_inline]] inline void finish_with(const EpilogueSpan& span) {
    const bool residual = span.residual != nullptr;
    if (span.factors != nullptr)
        residual ? finish_pixels<T, kActivation, true, true>(span) : finish_pixels<T, kActivation, false, true>(span);
    else
        residual ? finish_pixels<T, kActivation, true, false>(span) : finish_pixels<T, kActivation, false, false>(span);
}

template <class T>
[[gnu::always_inline]] inline void finish(const EpilogueSpan& span) {
    switch (span.activation) {
        case Activation::None:
            return finish_with<T, Activation::None>(span);
        case Activation::Silu:
            return finish_with<T, Activation::Silu>(span);
        case Activation::Relu:
            return finish_with<T, Activation::Relu>(span);
    }
}

}  // namespace

void finish_f32(const EpilogueSpan& span) { CpuClones<finish<float>>()(span); }

namespace {

constexpr CpuClones<finish<std::uint16_t>> finish_any_bf16;

/// Channels in whole registers and no activation, which is what most layers of a decoder have.
template <bool kResidual, bool kIntegers>
KINETOGRAPH_AVX512 void finish_plain_bf16(const EpilogueSpan& span) {
    const __m512 beta = _mm512_set1_ps(span.beta);
    for (std::int64_t pixel = 0; pixel < span.pixels; ++pixel) {
        const float* sums = span.sums + pixel * span.sums_pitch;
        const std::int64_t at = 2 * pixel * span.pixel_pitch;
        for (std::int64_t c = 0; c < span.channels; c += 16) {
            __m512 value = _mm512_loadu_ps(sums + c);
            const __m512 bias = _mm512_loadu_ps(span.bias + c);
            if constexpr (kIntegers) {
                const __m512i sum = _mm512_sub_epi32(_mm512_castps_si512(value), _mm512_loadu_si512(span.offsets + c));
                value = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), _mm512_loadu_ps(span.factors + c), bias);
            } else {
                value = _mm512_add_ps(value, bias);
            }
            if constexpr (kResidual) {
                const auto* from = reinterpret_cast<const __m256i*>(span.residual + at + 2 * c);
                const __m512i words = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from));
                value = _mm512_fmadd_ps(beta, _mm512_castsi512_ps(_mm512_slli_epi32(words, 16)), value);
            }
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(span.output + at + 2 * c),
                                reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(value)));
        }
    }
}

}  // namespace

void finish_bf16(const EpilogueSpan& span) {
    const bool plain = span.activation == Activation::None && span.channels % 16 == 0;
    if (!plain || processor().uses < InstructionSet::Avx512Bf16) return finish_any_bf16(span);
    const bool residual = span.residual != nullptr;
    if (span.factors != nullptr)
        residual ? finish_plain_bf16<true, true>(span) : finish_plain_bf16<false, true>(span);
    else
        residual ? finish_plain_bf16<true, false>(span) : finish_plain_bf16<false, false>(span);
}

}  // namespace kinetograph::conv
