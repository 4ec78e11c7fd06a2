#pragma once

#include <kinetograph/kernels/conv/epilogue_flags.hpp>
#include <kinetograph/kernels/isa/tensor_map.hpp>
#include <type_traits>

/// What one launch of ConvKernel reads, by value, as a `const __grid_constant__` parameter; filled in by
/// conv_maps.cpp and plan.cpp.
namespace kinetograph::sm90 {

/// Frames of one launch: outputs, the inputs under them (2 of history and as many new ones), taps in time.
inline constexpr uint32_t kMaxOutputs = 6, kMaxInputs = 8, kMaxTemporalTaps = 3;

using enum conv::EpilogueFlags;

/// Which of a pixel's 3 x 3 taps are outside the image.
enum EdgeBits : uint32_t { kFirstRow = 1, kLastRow = 2, kFirstColumn = 4, kLastColumn = 8 };
inline constexpr uint32_t kEdges = 16, kTapSets = 1u << kMaxTemporalTaps;

/// The input frames under an output frame's temporal taps; taps in the padding are left out.
struct FrameTaps {
    uint32_t count = 0;
    uint8_t input[kMaxTemporalTaps] = {};  ///< index into ConvParams::input
    uint8_t q[kMaxTemporalTaps] = {};
    uint8_t present = 0;  ///< bit q of each
};

/// Maps of stored results have the axes {c, px, x, py, y}: pixel (2 x + px, 2 y + py) of an upsampled frame; otherwise
/// the parity axes px and py have size 1.
struct ConvParams {
    isa::TensorMap input[kMaxInputs];      ///< {c_in, w, h} of one frame; box: a tile's halo of one block of K
    isa::TensorMap filter;                 ///< {c_in, c_out, taps (q, r, s), parities}; box: one stage
    isa::TensorMap output[kMaxOutputs];    ///< box: one piece of an 8 x 8 block
    isa::TensorMap residual[kMaxOutputs];  ///< as output
    isa::TensorMap normed[kMaxOutputs];    ///< as output; of bytes with kConvNormBytes
    FrameTaps taps[kMaxOutputs];
    const float* bias;   ///< [c_out rounded up to whole tiles], or null
    const float* gamma;  ///< likewise, for the norm
    const float* folds;  ///< likewise, with kConvNormBytes: a norm times it, plus zero_point, is its byte
    /// Of products of bytes: [c_out rounded up / 2][4], what two channels' sums are multiplied by, then their biases.
    const float* lines;
    /// Likewise: [kTapSets][kEdges][c_out], what the sums of a pixel begin with, by its FrameTaps::present and
    /// EdgeBits.
    const int32_t* starts;
    uint32_t start_channels;  ///< c_out
    uint32_t in_h, in_w;      ///< of an input frame
    float zero_point;         ///< with kConvNormBytes
    uint32_t frames;          ///< outputs
    uint32_t tiles_x, tiles_y, tiles_n;
    uint32_t parities;          ///< 1, or 4: sub-pixel positions, each with filters of its own
    uint32_t image_rows;        ///< rows from one parity's image to the next one's; 0: all parities read one image
    uint32_t channel_blocks;    ///< blocks of K under one tap
    int32_t pad_top, pad_left;  ///< of parity (0, 0); of one image, parity (px, py) pads px and py less
    uint32_t flags;             ///< EpilogueFlags
    float beta;
    float negative_slope;  ///< of kConvRelu
    float sqrt_c_out;
};
static_assert(std::is_trivially_copyable_v<ConvParams> && sizeof(ConvParams) <= 4096, "4 KiB of kernel parameters");

/// What a launch of a kernel with fp32_sums reads.
struct SumConvParams : ConvParams {
    float* sums[kMaxOutputs];  ///< [h, w, c_out]: added first with kConvAddend, stored in place of output with
                               ///< kConvFloat32
    uint32_t h, w, c_out;      ///< of an output frame
};
static_assert(std::is_trivially_copyable_v<SumConvParams> && sizeof(SumConvParams) <= 4096,
              "4 KiB of kernel parameters");

}  // namespace kinetograph::sm90
