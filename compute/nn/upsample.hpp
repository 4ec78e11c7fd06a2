// Nearest-neighbour upsampling by two in height and width: every pixel becomes a 2x2 block.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/engine/accel/accelerator.hpp>

#include <span>

namespace kinetograph::nn {

struct UpsampleNearest2x {
    std::span<const std::byte* const> input;  ///< frames [height, width, channels]
    std::span<std::byte* const> output;       ///< as many frames [2 height, 2 width, channels]
    std::int64_t height = 0, width = 0;       ///< of the input
    std::int64_t channels = 0;
    tensor::DType dtype = tensor::DType::BF16;  ///< F32 or BF16; on a GPU also F16
};

/// On the CPU; see Operators for any device. The spans are copied before this returns. Errors: InvalidArgument, naming
/// the pass.
Result<void> enqueue_upsample_nearest2x(accel::Stream& stream, std::string_view pass_name,
                                        const UpsampleNearest2x& work);

}  // namespace kinetograph::nn
