// RMS norm of runs of pixels in the cache: the inner loop of nn::enqueue_rms_norm and of the norm that a convolution
// applies to its output.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/kernels/conv/problem.hpp>

namespace kinetograph::conv {

/// output = activation(input * sqrt(channels) / max(||input||_2, 1e-12) * gamma), pixel by pixel, float32 math.
/// input and output [pixels, channels] of `dtype` (F32 or BF16) may be the same; gamma [channels]. One thread.
void rms_norm_pixels(const std::byte* input, std::byte* output, const float* gamma, std::int64_t pixels,
                     std::int64_t channels, tensor::DType dtype, Activation activation);

}  // namespace kinetograph::conv
