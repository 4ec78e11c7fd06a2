#include <kinetograph/compute/conv/cpu_clones.hpp>
#include <kinetograph/compute/conv/fast_exp.hpp>
#include <kinetograph/compute/conv/row_norm.hpp>
#include <kinetograph/compute/conv/row_norm_avx512.hpp>
#include <kinetograph/compute/tensor/float_formats.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

namespace kinetograph::conv {
namespace {

inline float load(const float* values, std::int64_t i) { return values[i]; }
inline float load(const std::uint16_t* values, std::int64_t i) { return tensor::from_bf16(values[i]); }

/// Stores as the input is stored.
struct SameStore {
    [[gnu::always_inline]] void operator()(float* to, std::int64_t c, float value) const { to[c] = value; }
    [[gnu::always_inline]] void operator()(std::uint16_t* to, std::int64_t c, float value) const {
        to[c] = tensor::to_bf16(value);
    }
};

/// Stores U8.
struct ByteStore {
    ByteGrid grid;
    [[gnu::always_inline]] void operator()(std::uint8_t* to, std::int64_t c, float value) const {
        constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer in the low mantissa bits
        const float scaled = value * grid.factors[c] + grid.zero;
        const float limited = std::min(255.0F, std::max(0.0F, scaled));  // 0 for NaN
        to[c] = static_cast<std::uint8_t>(std::bit_cast<std::uint32_t>(limited + kRound));
    }
};

/// Pixels whose scales are computed together: one vector root and division instead of many scalar ones.
constexpr std::int64_t kBlock = 64;

/// kChannels: a width known to the compiler, whose loops then unroll completely; 0: `channels`.
template <class T, class Out, class Store, std::int64_t kChannels, bool kSilu>
[[gnu::always_inline]] inline void norm_block(const T* input, Out* output, const float* gamma, std::int64_t pixels,
                                              std::int64_t channels, Store store) {
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
        Out* out = output + pixel * width;
        const float factor = scale[pixel];
#pragma omp simd
        for (std::int64_t c = 0; c < width; ++c) {
            const float value = load(in, c) * factor * gamma[c];
            store(out, c, kSilu ? fast_silu(value) : value);
        }
    }
}

template <class T, class Out, class Store, bool kSilu>
[[gnu::always_inline]] inline void norm_blocks(const T* input, Out* output, const float* gamma, std::int64_t pixels,
                                               std::int64_t channels, Store store) {
    for (std::int64_t first = 0; first < pixels; first += kBlock) {
        const std::int64_t count = std::min(kBlock, pixels - first), at = first * channels;
        switch (channels) {
            case 32:
                norm_block<T, Out, Store, 32, kSilu>(input + at, output + at, gamma, count, channels, store);
                break;
            case 64:
                norm_block<T, Out, Store, 64, kSilu>(input + at, output + at, gamma, count, channels, store);
                break;
            case 96:
                norm_block<T, Out, Store, 96, kSilu>(input + at, output + at, gamma, count, channels, store);
                break;
            case 128:
                norm_block<T, Out, Store, 128, kSilu>(input + at, output + at, gamma, count, channels, store);
                break;
            default:
                norm_block<T, Out, Store, 0, kSilu>(input + at, output + at, gamma, count, channels, store);
        }
    }
}

template <class T, class Out, class Store>
[[gnu::always_inline]] inline void norm_loop(const T* input, Out* output, const float* gamma, std::int64_t pixels,
                                             std::int64_t channels, bool silu, Store store) {
    silu ? norm_blocks<T, Out, Store, true>(input, output, gamma, pixels, channels, store)
         : norm_blocks<T, Out, Store, false>(input, output, gamma, pixels, channels, store);
}
constexpr CpuClones<norm_loop<float, float, SameStore>> norm_f32;
constexpr CpuClones<norm_loop<std::uint16_t, std::uint16_t, SameStore>> norm_bf16;
constexpr CpuClones<norm_loop<float, std::uint8_t, ByteStore>> norm_f32_to_bytes;
constexpr CpuClones<norm_loop<std::uint16_t, std::uint8_t, ByteStore>> norm_bf16_to_bytes;

}  // namespace

void rms_norm_pixels(const std::byte* input, std::byte* output, const float* gamma, std::int64_t pixels,
                     std::int64_t channels, tensor::DType dtype, Activation activation) {
    const bool silu = activation == Activation::Silu;
    if (dtype == tensor::DType::F32) {
        norm_f32(reinterpret_cast<const float*>(input), reinterpret_cast<float*>(output), gamma, pixels, channels, silu,
                 SameStore{});
    } else if (has_avx512_norm(channels)) {
        norm_bf16_avx512(input, output, gamma, pixels, channels, activation);
    } else {
        norm_bf16(reinterpret_cast<const std::uint16_t*>(input), reinterpret_cast<std::uint16_t*>(output), gamma,
                  pixels, channels, silu, SameStore{});
    }
}

void rms_norm_bytes(const std::byte* input, std::byte* output, const float* gamma, const ByteGrid& grid,
                    std::int64_t pixels, std::int64_t channels, tensor::DType dtype, Activation activation) {
    const bool silu = activation == Activation::Silu;
    auto* const bytes = reinterpret_cast<std::uint8_t*>(output);
    if (dtype == tensor::DType::F32) {
        norm_f32_to_bytes(reinterpret_cast<const float*>(input), bytes, gamma, pixels, channels, silu, ByteStore{grid});
    } else if (has_avx512_norm(channels)) {
        norm_bf16_to_bytes_avx512(input, output, gamma, grid, pixels, channels, activation);
    } else {
        norm_bf16_to_bytes(reinterpret_cast<const std::uint16_t*>(input), bytes, gamma, pixels, channels, silu,
                           ByteStore{grid});
    }
}

RowNorm RowNorm::of(const ConvProblem& problem, const ConvParameters& parameters) {
    RowNorm norm{.gamma = {parameters.gamma.begin(), parameters.gamma.end()},
                 .zero = static_cast<float>(problem.normed.zero),
                 .dtype = problem.output.element,
                 .activation = problem.norm_activation};
    if (problem.norms_to_bytes())
        for (const float fold : parameters.folds) norm.factors.push_back(fold / problem.normed.scale);
    return norm;
}

void RowNorm::run(const std::byte* input, std::byte* output, std::int64_t pixels) const {
    const auto channels = static_cast<std::int64_t>(gamma.size());
    if (factors.empty())
        rms_norm_pixels(input, output, gamma.data(), pixels, channels, dtype, activation);
    else
        rms_norm_bytes(input, output, gamma.data(), {factors.data(), zero}, pixels, channels, dtype, activation);
}

}  // namespace kinetograph::conv
