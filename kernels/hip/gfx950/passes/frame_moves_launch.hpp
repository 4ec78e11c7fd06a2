#pragma once

#include <kinetograph/kernels/hip/gfx950/passes/frame_moves_params.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/launch_shape.hpp>
#include <kinetograph/kernels/isa/element.hpp>

namespace kinetograph::gfx950 {

/// Nearest neighbour, by two in height and width. Frames 16-byte aligned.
struct UpsampleProblem {
    int64_t frames = 1;
    int64_t height = 0, width = 0;  ///< of the input
    int64_t channels = 0;
    Element storage = Element::BF16;
};
Refusal refusal(const UpsampleProblem& problem);
LaunchShape launch_shape(const UpsampleProblem& problem);
UpsampleParams make_params(const UpsampleProblem& problem, const FrameTable& frames);

/// Channels to blocks of 2x2 pixels. Frames 4-byte aligned.
struct DepthToSpaceProblem {
    int64_t frames = 1;
    int64_t height = 0, width = 0;  ///< of the input
    int64_t channels_in = 0;        ///< divides 4 channels_out
    int64_t channels_out = 0;
    conv::PixelOrder order = conv::PixelOrder::RowsFirst;
    Element storage = Element::BF16;
};
Refusal refusal(const DepthToSpaceProblem& problem);
LaunchShape launch_shape(const DepthToSpaceProblem& problem);
DepthToSpaceParams make_params(const DepthToSpaceProblem& problem, const FrameTable& frames);

/// The matrix whose product with the filter [K][C_out] is a convolution; K = q * r * s * channels, channels fastest.
struct Im2colProblem {
    struct Axis {
        int64_t size = 1, taps = 1, stride = 1, dilation = 1, pad_before = 0, pad_after = 0;
        int64_t output() const { return (size + pad_before + pad_after - dilation * (taps - 1) - 1) / stride + 1; }
    };
    Axis frames, height, width;
    int64_t channels = 0;
    Element storage = Element::BF16;
    int64_t columns = 0;                  ///< of the matrix, at least K; those beyond K become zero
    int64_t first_pixel = 0, pixels = 0;  ///< of every output frame

    int64_t taps() const { return frames.taps * height.taps * width.taps * channels; }  ///< K
};
Refusal refusal(const Im2colProblem& problem);
LaunchShape launch_shape(const Im2colProblem& problem);
/// matrix [output frames * pixels][columns], 16-byte aligned.
Im2colParams make_params(const Im2colProblem& problem, std::span<const std::byte* const> input, std::byte* matrix);

}  // namespace kinetograph::gfx950
