#pragma once

#include <kinetograph/kernels/conv/pixel_order.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/frame_table.hpp>

/// Passes that move elements without interpreting them. They exist for units of 16, 4 and 2 bytes: the largest that
/// divides a pixel's (or row's) bytes and every other size in units.
namespace kinetograph::gfx950 {

/// Every pixel becomes a 2x2 block. Grid: units of an input row, input rows, frames.
struct UpsampleParams {
    FrameTable frames;   ///< [height, width] pixels to [2 height, 2 width]
    uint32_t row_bytes;  ///< of the input
    uint32_t pixel_bytes;
};

/// out[2 y + dy, 2 x + dx][c] = in[y, x][(4 c + place_in_block(order, dy, dx)) / shared_by], shared_by = 4 channels_out
/// / channels_in. Moves elements of 4 or 2 bytes. Grid: elements of an output row, output rows, frames.
struct DepthToSpaceParams {
    FrameTable frames;    ///< [height, width, channels_in] to [2 height, 2 width, channels_out]
    uint32_t input_row;   ///< elements
    uint32_t output_row;  ///< elements
    uint32_t channels_in, channels_out, shared_by;
    conv::PixelOrder order;
};

/// out[d * pixels + pixel][k] = the input under tap and channel k of a convolution at that output pixel, k = ((q * R +
/// r) * S + s) * C + c; zeros outside the image, in padding frames and in the columns after the last tap. A convolution
/// is the product of this matrix and the filter [K][C_out]. Grid: units, temporal taps and one more for the columns
/// after them, output frames.
struct Im2colParams {
    FrameTable frames;  ///< .input: of the convolution, [height, width, pixel_bytes], null for zeros; .output[0]: the
                        ///< matrix
    uint32_t input_frames;
    uint32_t height, width, pixel_bytes;
    uint32_t output_width;
    uint32_t first_pixel, pixels;  ///< of every output frame: a large matrix is made in parts
    uint32_t taps_q, taps_r, taps_s;
    uint32_t stride_d, stride_h, stride_w;
    uint32_t dilation_d, dilation_h, dilation_w;
    uint32_t pad_front, pad_top, pad_left;
    uint32_t pitch;  ///< bytes of a row of the matrix
};

}  // namespace kinetograph::gfx950
