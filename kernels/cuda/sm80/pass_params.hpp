#pragma once

#include <cstdint>
#include <kinetograph/kernels/conv/element.hpp>
#include <kinetograph/kernels/isa/target.hpp>

/// The parameters of attention and of a convolution's passes: each struct is a kernel's only parameter, by value. Those
/// of the other operators are beside their kernels (frame_passes.hpp).
namespace kinetograph::sm80 {

/// Frames of one launch; more frames take several launches.
inline constexpr uint32_t kMaxPassFrames = 32;

/// Frame addresses, because the frames of a ring are not contiguous.
struct FrameTable {
    const void* input[kMaxPassFrames];
    void* output[kMaxPassFrames];
};

/// softmax(q k^T / sqrt(channels)) v of each frame, one head as wide as the channels, no mask.
struct AttentionParams {
    FrameTable frames;  ///< [tokens, 3 * channels]: query, key, value of a token in this order; to [tokens, channels]
    uint32_t tokens;
    uint32_t channels;  ///< a multiple of 8, at most the kernel's width
    float scale;        ///< 1 / sqrt(channels)
};

/// sum (+)= slice: one step of q-slice-rounded-sm80, whose 2-D convolutions store each temporal tap's result in the
/// element's type. (The fused form needs no pass: it adds through ConvParams::addend.)
struct AddSliceParams {
    FrameTable frames;  ///< [elements] slices to fp32 [elements] sums
    uint32_t elements;
    uint32_t first;  ///< 1: the sum starts with this slice and overwrites the old contents
};

/// out = ReLU(SiLU(sum + bias) + beta * residual), rounded once: the last step of q-slice-rounded-sm80.
struct FinishSlicesParams {
    FrameTable frames;                     ///< fp32 [pixels, channels] to the same of the output's type
    const void* residual[kMaxPassFrames];  ///< as the output; null: none
    const float* bias;                     ///< [channels]; null: none
    uint32_t elements, channels;
    uint32_t silu;
    float beta;
    uint32_t relu = 0;
    float negative_slope = 0;  ///< of the ReLU
};

/// Rows of a matrix, one per output pixel, with all taps: (q, r, s, channel), channels fastest, then zeros up to the
/// row's end. A slab is the part of one output frame's rows that one temporal tap fills: tap_units units of each row,
/// for the last tap also the zeros. Moves units of 16, 4 or 2 bytes, the largest that divides a pixel.
struct Im2colParams {
    FrameTable frames;  ///< stored [h, w] pixels, null: zeros; to the slab's address in row 0
    uint32_t h, w;      ///< of the image that the taps see
    uint32_t w_stored;  ///< of the stored frame
    uint32_t upsample;  ///< 1: stored pixel = seen pixel / 2
    uint32_t w_out;
    uint32_t s;  ///< taps in a row of the filter
    int32_t stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
    uint32_t first_pixel, pixels;  ///< of the output frame: pixel first_pixel is row 0
    uint32_t pixel_units, tap_units, row_units;
    uint32_t q, first_slab;  ///< slab y of this launch has number first_slab + y; its temporal tap is that modulo q

    /// Units of the last temporal tap's slab, the widest.
    KG_HOST_DEVICE uint32_t widest() const { return row_units - (q - 1) * tap_units; }
};

static_assert(sizeof(FinishSlicesParams) <= 4096);

}  // namespace kinetograph::sm80
