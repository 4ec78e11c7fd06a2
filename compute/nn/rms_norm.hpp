// RMS norm over channels, optionally followed by SiLU.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/kernels/conv/problem.hpp>

#include <span>

namespace kinetograph::nn {

using conv::Activation;

/// y = x * sqrt(C) / max(||x||_2, 1e-12) * gamma for every pixel's C channels, then the activation.
/// No bias, no mean, no epsilon under the root; a pixel of zeros stays zero.
struct RmsNorm {
    std::span<const std::byte* const> input;  ///< frames [pixels, channels]
    std::span<std::byte* const> output;       ///< as many frames; a frame may be its input frame
    std::int64_t pixels = 0;                  ///< of one frame
    std::int64_t channels = 0;
    const float* gamma = nullptr;               ///< [channels], on the device; lives until the stream has passed
    tensor::DType dtype = tensor::DType::BF16;  ///< of both, F32 or BF16; on a GPU also F16; the math is float32
    Activation activation = Activation::None;
    /// As many frames, or none: the input is added to these in place, rounded once, and x is the sum.
    std::span<std::byte* const> sum{};
};

/// Errors: InvalidArgument (another number of sums than of frames), naming the pass.
Result<void> check_sums(std::string_view pass_name, const RmsNorm& work);
/// On the CPU; see Operators for any device. The spans are copied before this returns.
/// Errors: InvalidArgument, naming the pass.
Result<void> enqueue_rms_norm(accel::Stream& stream, std::string_view pass_name, const RmsNorm& work);

}  // namespace kinetograph::nn
