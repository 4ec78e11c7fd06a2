// The two ends of a decoder: planar float latents to channel-last frames, and the clamp of what comes out.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/engine/accel/accelerator.hpp>

#include <memory>
#include <span>
#include <vector>

namespace kinetograph::nn {

/// out[pixel][c] = latent[c][pixel] * scale[c] + shift[c], rounded once to dtype.
struct UnpackLatent {
    const float* latent = nullptr;  ///< [channels, pixels] float32, read when the stream gets there
    std::byte* output = nullptr;    ///< [pixels, channels]
    std::int64_t pixels = 0, channels = 0;
    std::shared_ptr<const std::vector<float>> scale;  ///< [channels]; null: 1
    std::shared_ptr<const std::vector<float>> shift;  ///< [channels]; null: 0
    tensor::DType dtype = tensor::DType::BF16;        ///< of the output, F32 or BF16
};
/// Errors: InvalidArgument, naming the pass.
Result<void> enqueue_unpack_latent(accel::Stream& stream, std::string_view pass_name, const UnpackLatent& work);

/// Clamps float32 frames to [low, high]; NaN stays NaN.
struct ClampFrames {
    std::span<const std::byte* const> input;  ///< frames of `elements` float32
    std::span<std::byte* const> output;       ///< as many; a frame may be its input frame
    std::int64_t elements = 0;                ///< of one frame
    float low = -1, high = 1;
};
/// The spans are copied before this returns. Errors: InvalidArgument, naming the pass.
Result<void> enqueue_clamp(accel::Stream& stream, std::string_view pass_name, const ClampFrames& work);

/// Storage of one frame to float32: for traces and tests. dtype F32 or BF16; blocks, works on host memory.
std::vector<float> to_f32(const std::byte* frame, std::int64_t elements, tensor::DType dtype);

}  // namespace kinetograph::nn
