#include <kinetograph/compute/conv/cpu_clones.hpp>
#include <kinetograph/compute/conv/fast_exp.hpp>
#include <kinetograph/compute/conv/row_norm.hpp>
#include <kinetograph/compute/conv/row_norm_avx512.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>

#include <algorithm>
#include <cmath>

namespace kinetograph::conv {
namespace {

inline float load(const float* values, std::int64_t i) { return values[i]; }
inline float load(const std::uint16_t* values, std::int64_t i) { return tensor::from_bf16(values[i]); }
inline void store(float* values, std::int64_t i, float value) { values[i] = value; }
inline void store(std::uint16_t* values, std::int64_t i, float value) { values[i] = tensor::to_bf16(value); }

/// Pixels whose scales are computed together: one vector root and division instead of many scalar ones.
constexpr std::int64_t kBlock = 64;

/// kChannels: a width known to the compiler, whose loops then unroll completely; 0: `channels`.
template <class T, std::int64_t kChannels, bool kSilu>
[[gnu::always_inline]] inline void norm_block(const T* input, T* output, const float* gamma, std::int64_t pixels,
                                              std::int64_t channels) {
    const std::int64_t width = kChannels == 0 ? channels : kChannels;
    const float root = std::sqrt(static_cast<float>(width));
    float scale[kBlock];
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
        const T* in = input + pixel * width;
        float squares = 0;
#pragma omp simd reduction(+ : squares)
        for (std::int64_t c = 0; c < width; ++c) squares += load(in, c) * load(in, c);
        scale[pixel] = squares;
    }
#pragma omp simd
    for (std::int64_t pixel = 0; pixel < kBlock; ++pixel) {
        scale[pixel] = root / std::max(std::sqrt(pixel < pixels ? scale[pixel] : 1.0F), 1e-12F);
    }
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
        const T* in = input + pixel * width;
        T* out = output + pixel * width;
        const float factor = scale[pixel];
#pragma omp simd
        for (std::int64_t c = 0; c < width; ++c) {
            const float value = load(in, c) * factor * gamma[c];
            store(out, c, kSilu ? fast_silu(value) : value);
        }
    }
}

template <class T, bool kSilu>
[[gnu::always_inline]] inline void norm_blocks(const T* input, T* output, const float* gamma, std::int64_t pixels,
                                               std::int64_t channels) {
    for (std::int64_t first = 0; first < pixels; first += kBlock) {
        const std::int64_t count = std::min(kBlock, pixels - first), at = first * channels;
        switch (channels) {
            case 32:
                norm_block<T, 32, kSilu>(input + at, output + at, gamma, count, channels);
                break;
            case 64:
                norm_block<T, 64, kSilu>(input + at, output + at, gamma, count, channels);
                break;
            case 96:
                norm_block<T, 96, kSilu>(input + at, output + at, gamma, count, channels);
                break;
            case 128:
                norm_block<T, 128, kSilu>(input + at, output + at, gamma, count, channels);
                break;
            default:
                norm_block<T, 0, kSilu>(input + at, output + at, gamma, count, channels);
        }
    }
}

template <class T>
[[gnu::always_inline]] inline void norm_loop(const T* input, T* output, const float* gamma, std::int64_t pixels,
                                             std::int64_t channels, bool silu) {
    silu ? norm_blocks<T, true>(input, output, gamma, pixels, channels)
         : norm_blocks<T, false>(input, output, gamma, pixels, channels);
}
constexpr CpuClones<norm_loop<float>> norm_f32;
constexpr CpuClones<norm_loop<std::uint16_t>> norm_bf16;

}  // namespace

void rms_norm_pixels(const std::byte* input, std::byte* output, const float* gamma, std::int64_t pixels,
                     std::int64_t channels, tensor::DType dtype, Activation activation) {
    const bool silu = activation == Activation::Silu;
    if (dtype == tensor::DType::F32) {
        norm_f32(reinterpret_cast<const float*>(input), reinterpret_cast<float*>(output), gamma, pixels, channels,
                 silu);
    } else if (has_avx512_norm(channels)) {
        norm_bf16_avx512(input, output, gamma, pixels, channels, activation);
    } else {
        norm_bf16(reinterpret_cast<const std::uint16_t*>(input), reinterpret_cast<std::uint16_t*>(output), gamma,
                  pixels, channels, silu);
    }
}

}  // namespace kinetograph::conv
