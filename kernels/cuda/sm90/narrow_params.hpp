#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_params.hpp>

/// What launches of the narrow product's kernels read, by value, as a `const __grid_constant__` parameter.
namespace kinetograph::sm90 {

/// Output frames, and what is done to their sums.
struct NarrowOutput {
    void* output[kMaxOutputs];          ///< [h_out, w_out, c_out]
    const void* residual[kMaxOutputs];  ///< likewise, and may be the same; null: none
    const float* bias;                  ///< [c_out], or null
    uint32_t frames;                    ///< outputs
    uint32_t c_out;
    uint32_t h_out, w_out;
    uint32_t tiles_x, tiles_y;
    int32_t pad_top, pad_left;
    uint32_t channel_blocks;  ///< of kNarrowChannels
    uint32_t silu, relu;      ///< 1: applied to the result
    uint32_t float32;         ///< 1: output and residual are fp32; otherwise of the input's element
    float beta;               ///< factor of the residual
    float negative_slope;     ///< of the ReLU
};

/// Of NarrowConvKernel.
struct NarrowConvParams : NarrowOutput {
    isa::TensorMap input[kMaxInputs];  ///< {c_in, w, h} of one frame; box: kNarrowChannels of a tile's pixels
    isa::TensorMap filter;             ///< {c_in, columns, q}; box: kNarrowChannels of all columns of one q
    FrameTaps taps[kMaxOutputs];
};
static_assert(std::is_trivially_copyable_v<NarrowConvParams> && sizeof(NarrowConvParams) <= 4096);

/// Of FrameWalkKernel.
struct FrameWalkParams : NarrowOutput {
    isa::TensorMap input[kMaxInputs];  ///< {c_in, w, h} of one frame; box: kNarrowChannels of a tile's pixels
    isa::TensorMap filter;             ///< {c_in, rows}; box: kNarrowChannels of all rows
    uint32_t inputs;                   ///< frames
    int32_t newest;                    ///< the input frame under the last temporal tap of output 0
    uint32_t biased;                   ///< outputs, the first ones, that have a bias
};
static_assert(std::is_trivially_copyable_v<FrameWalkParams> && sizeof(FrameWalkParams) <= 4096);

}  // namespace kinetograph::sm90
