#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_params.hpp>

/// What one launch of NarrowConvKernel reads, by value, as a `const __grid_constant__` parameter.
namespace kinetograph::sm90 {

struct NarrowConvParams {
    isa::TensorMap input[kMaxInputs];   ///< {c_in, w, h} of one frame; box: kNarrowChannels of a tile's pixels
    isa::TensorMap filter;              ///< {c_in, columns, q}; box: kNarrowChannels of all columns of one q
    void* output[kMaxOutputs];          ///< [h_out, w_out, c_out]
    const void* residual[kMaxOutputs];  ///< likewise, and may be the same; null: none
    FrameTaps taps[kMaxOutputs];
    const float* bias;  ///< [c_out], or null
    uint32_t frames;    ///< outputs
    uint32_t tiles_x, tiles_y;
    uint32_t channel_blocks;
    uint32_t c_out;
    uint32_t h_out, w_out;
    int32_t pad_top, pad_left;
    uint32_t silu, relu;   ///< 1: applied to the result
    uint32_t float32;      ///< 1: output and residual are fp32; otherwise of the input's element
    float beta;            ///< factor of the residual
    float negative_slope;  ///< of the ReLU
};
static_assert(std::is_trivially_copyable_v<NarrowConvParams> && sizeof(NarrowConvParams) <= 4096);

}  // namespace kinetograph::sm90
