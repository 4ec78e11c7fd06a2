#include <kinetograph/compute/conv/cpu_clones.hpp>
#include <kinetograph/compute/conv/fast_exp.hpp>
#include <kinetograph/compute/conv/row_norm.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>

#include <algorithm>
#include <cmath>

namespace kinetograph::conv {
namespace {

inline float load(const float* values, std::int64_t i) { return values[i]; }
inline float load(const std::uint16_t* values, std::int64_t i) { return tensor::from_bf16(values[i]); }
inline void store(float* values, std::int64_t i, float value) { values[i] = value; }
inline void store(std::uint16_t* values, std::int64_t i, float value) { values[i] = tensor::to_bf16(value); }

template <class T>
[[gnu::always_inline]] inline void norm_pixels(const T* input, T* output, const float* gamma, std::int64_t pixels,
                                               std::int64_t channels, bool silu) {
    const float root = std::sqrt(static_cast<float>(channels));
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
        const T* in = input + pixel * channels;
        T* out = output + pixel * channels;
        float squares = 0;
#pragma omp simd reduction(+ : squares)
        for (std::int64_t c = 0; c < channels; ++c) squares += load(in, c) * load(in, c);
        const float scale = root / std::max(std::sqrt(squares), 1e-12F);
        if (silu) {
#pragma omp simd
            for (std::int64_t c = 0; c < channels; ++c) store(out, c, fast_silu(load(in, c) * scale * gamma[c]));
        } else {
#pragma omp simd
            for (std::int64_t c = 0; c < channels; ++c) store(out, c, load(in, c) * scale * gamma[c]);
        }
    }
}

KINETOGRAPH_CPU_CLONES void norm_f32(const float* input, float* output, const float* gamma, std::int64_t pixels,
                                     std::int64_t channels, bool silu) {
    norm_pixels(input, output, gamma, pixels, channels, silu);
}

KINETOGRAPH_CPU_CLONES void norm_bf16(const std::uint16_t* input, std::uint16_t* output, const float* gamma,
                                      std::int64_t pixels, std::int64_t channels, bool silu) {
    norm_pixels(input, output, gamma, pixels, channels, silu);
}

}  // namespace

void rms_norm_pixels(const std::byte* input, std::byte* output, const float* gamma, std::int64_t pixels,
                     std::int64_t channels, tensor::DType dtype, Activation activation) {
    const bool silu = activation == Activation::Silu;
    if (dtype == tensor::DType::F32) {
        norm_f32(reinterpret_cast<const float*>(input), reinterpret_cast<float*>(output), gamma, pixels, channels,
                 silu);
    } else {
        norm_bf16(reinterpret_cast<const std::uint16_t*>(input), reinterpret_cast<std::uint16_t*>(output), gamma,
                  pixels, channels, silu);
    }
}

}  // namespace kinetograph::conv
