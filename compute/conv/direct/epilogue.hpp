// From float32 sums to stored pixels: bias, activation, residual, one rounding.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/kernels/conv/problem.hpp>

namespace kinetograph::conv::direct {

/// `pixels` neighbouring output pixels, `channels` of each.
struct EpilogueSpan {
    const float* sums = nullptr;  ///< [pixels][sums_pitch], 64-byte aligned
    std::int64_t sums_pitch = 0;
    std::int64_t pixels = 0, channels = 0;
    const float* bias = nullptr;          ///< [channels]
    const std::byte* residual = nullptr;  ///< at the first pixel's first channel, of the output's type; null: none
    std::byte* output = nullptr;          ///< likewise
    std::int64_t pixel_pitch = 0;         ///< elements from pixel to pixel of residual and output
    float beta = 1;
    Activation activation = Activation::None;
    float negative_slope = 0;  ///< of Relu
};

void finish_f32(const EpilogueSpan& span);
/// Needs AVX512_BF16, which all products of bf16 do; denormals become zero.
void finish_bf16(const EpilogueSpan& span);

}  // namespace kinetograph::conv::direct
