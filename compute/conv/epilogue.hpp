// From sums to stored pixels: factor, bias, activation, residual, one rounding.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/kernels/conv/problem.hpp>

namespace kinetograph::conv {

/// `pixels` neighbouring output pixels, `channels` of each.
struct EpilogueSpan {
    const float* sums = nullptr;  ///< [pixels][sums_pitch]; int32 if there are factors
    std::int64_t sums_pitch = 0;
    std::int64_t pixels = 0, channels = 0;
    const float* bias = nullptr;          ///< [channels]
    const std::byte* residual = nullptr;  ///< at the first pixel's first channel, of the output's type; null: none
    std::byte* output = nullptr;          ///< likewise
    std::int64_t pixel_pitch = 0;         ///< elements from pixel to pixel of residual and output
    float beta = 1;
    Activation activation = Activation::None;
    float negative_slope = 0;               ///< of Relu
    const float* factors = nullptr;         ///< [channels] of integer sums; null: the sums are float32
    const std::int32_t* offsets = nullptr;  ///< [channels], subtracted from integer sums first
};

/// output = relu(silu(factors * (sums - offsets) + bias) + beta * residual), with at most one of the two functions; to
/// bf16 rounded once, where AVX512_BF16 is used with denormals as zero. The output may be the residual or, in float32,
/// the sums.
void finish_f32(const EpilogueSpan& span);
void finish_bf16(const EpilogueSpan& span);

}  // namespace kinetograph::conv
