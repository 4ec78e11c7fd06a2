// Channels to pixels: every pixel becomes a 2x2 block made of its channels.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/kernels/conv/pixel_order.hpp>

#include <span>

namespace kinetograph::nn {

using conv::PixelOrder;

/// out[2 y + dy, 2 x + dx, c] = in[y, x, (4 c + i) * channels_in / (4 channels_out)], i = place_in_block(order, dy,
/// dx).
struct PixelShuffle {
    std::span<const std::byte* const> input;  ///< frames [height, width, channels_in]
    std::span<std::byte* const> output;       ///< as many frames [2 height, 2 width, channels_out]
    std::int64_t height = 0, width = 0;       ///< of the input
    std::int64_t channels_in = 0;             ///< divides 4 channels_out
    std::int64_t channels_out = 0;
    PixelOrder order = PixelOrder::RowsFirst;
    tensor::DType dtype = tensor::DType::BF16;  ///< F32 or BF16; on a GPU also F16
};

/// Errors: InvalidArgument, naming the pass.
Result<void> check(std::string_view pass_name, const PixelShuffle& work);

/// On the CPU; see Operators for any device. The spans are copied before this returns. Errors: InvalidArgument, naming
/// the pass.
Result<void> enqueue_depth_to_space(accel::Stream& stream, std::string_view pass_name, const PixelShuffle& work);

}  // namespace kinetograph::nn
