#pragma once

#include <cstdint>
#include <kinetograph/kernels/conv/epilogue_flags.hpp>
#include <type_traits>

/// The parameters of one launch of ConvKernel, passed by value; plan.cpp fills them in.
namespace kinetograph::sm80 {

/// Output frames of one launch, and frame taps (output frames times temporal taps) of one launch.
inline constexpr uint32_t kMaxConvFrames = 32, kMaxConvFrameTaps = 64;

using enum conv::EpilogueFlags;

struct ConvParams {
    const void* input[kMaxConvFrameTaps];  ///< [frame][q]: [h, w, c_in] blocks as stored; null: a frame of zeros
    void* output[kMaxConvFrames];          ///< [frame]: [h_out, w_out, c_out]
    const void* residual[kMaxConvFrames];  ///< [frame]: as the output, and may be the same; added times beta
    const void* addend[kMaxConvFrames];    ///< [frame]: [h_out, w_out, c_out] fp32; may be an fp32 output
    void* normed[kMaxConvFrames];          ///< [frame]: as the output
    const void* filter;                    ///< [parity][c_out][taps][c_padded]: pack_filter
    const float* bias;                     ///< [c_out]
    const float* gamma;                    ///< [c_out]

    uint32_t h, w;      ///< of the image that the taps see
    uint32_t w_stored;  ///< of the stored frame
    uint32_t upsample;  ///< 1: stored pixel = seen pixel / 2
    uint32_t c_in, c_out;
    uint32_t c_padded;       ///< c_in rounded up to a chunk: channels of one tap along K
    uint32_t q, r, s;        ///< taps
    uint32_t w_out, pixels;  ///< of the image that the tiles walk: an output frame, or one parity of it
    uint32_t parities;       ///< 1, or 4: sub-pixel positions (row, column), each with its own filter
    uint32_t n_tiles;        ///< tiles along the filters
    int32_t stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
    uint32_t flags;  ///< EpilogueFlags
    float beta;
    float negative_slope;  ///< of kConvRelu
    float sqrt_c_out;
};
static_assert(std::is_trivially_copyable_v<ConvParams> && sizeof(ConvParams) <= 4096, "4 KiB of kernel parameters");

}  // namespace kinetograph::sm80
