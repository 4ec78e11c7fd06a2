// RMS norm of runs of pixels in the cache: the inner loop of nn::enqueue_rms_norm and of the norm that a convolution
// applies to its output.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/kernels/conv/problem.hpp>
#include <kinetograph/kernels/conv/tensors.hpp>

#include <vector>

namespace kinetograph::conv {

/// output = activation(input * sqrt(channels) / max(||input||_2, 1e-12) * gamma), pixel by pixel, float32 math.
/// input and output [pixels, channels] of `dtype` (F32 or BF16) may be the same; gamma [channels]. One thread.
void rms_norm_pixels(const std::byte* input, std::byte* output, const float* gamma, std::int64_t pixels,
                     std::int64_t channels, tensor::DType dtype, Activation activation);

/// How a norm is stored in bytes: round(value * factors[c] + zero), limited to 0 ... 255; NaN becomes 0.
struct ByteGrid {
    const float* factors = nullptr;  ///< [channels]
    float zero = 0;
};
/// The same norm stored as U8: output [pixels, channels] bytes, apart from the input.
void rms_norm_bytes(const std::byte* input, std::byte* output, const float* gamma, const ByteGrid& grid,
                    std::int64_t pixels, std::int64_t channels, tensor::DType dtype, Activation activation);

/// The norm of a convolution's output.
struct RowNorm {
    std::vector<float> gamma{};
    std::vector<float> factors{};  ///< ByteGrid's; empty: stored as the input
    float zero = 0;
    tensor::DType dtype = tensor::DType::BF16;  ///< of the input
    Activation activation = Activation::None;

    static RowNorm of(const ConvProblem& problem, const ConvParameters& parameters);
    void run(const std::byte* input, std::byte* output, std::int64_t pixels) const;
};

}  // namespace kinetograph::conv
