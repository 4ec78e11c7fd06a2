#pragma once

#include <kinetograph/kernels/hip/gfx950/passes/frame_values_params.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/launch_shape.hpp>
#include <kinetograph/kernels/isa/element.hpp>
#include <limits>

namespace kinetograph::gfx950 {

/// Planar latents to channel-last frames, each pixel mapped. Frames 16-byte aligned, here and below.
struct UnpackLatentProblem {
    int64_t frames = 1, pixels = 0, channels = 0;
    Element storage = Element::BF16;  ///< of the output
    float soft_limit = 0;             ///< limit * tanh(value / limit) is stored; 0: the value
    Element latent = Element::F32;    ///< F32, F16 or BF16
};
Refusal refusal(const UnpackLatentProblem& problem);
LaunchShape launch_shape(const UnpackLatentProblem& problem);
/// map [channels + 1, channels] float32 on the device, or null.
UnpackLatentParams make_params(const UnpackLatentProblem& problem, const FrameTable& frames, const float* map);

/// Adds the float32 sums of the parts of a convolution's K (ConvOverrides::splits) and finishes its output:
/// relu(silu(scale * sum + bias) + beta * source).
struct JoinSumsProblem {
    int64_t frames = 1, pixels = 0, channels = 0;  ///< channels a multiple of 8
    Element storage = Element::BF16;               ///< of output and source: bf16, fp16, float32
    uint32_t parts = 2;
    bool silu = false, source = false;
    float beta = 1;
    bool relu = false;
    float negative_slope = 0;  ///< of the ReLU
};
Refusal refusal(const JoinSumsProblem& problem);
LaunchShape launch_shape(const JoinSumsProblem& problem);
/// frames.input: the first part's sums; the next part's are part_bytes further on. bias, scales [channels] on the
/// device, or null. source: as many frames as outputs, or none.
JoinSumsParams make_params(const JoinSumsProblem& problem, const FrameTable& frames, uint64_t part_bytes,
                           std::span<const std::byte* const> source, const float* bias, const float* scales);

/// Frames to float32 or half in [-limit, limit], channel-last as they are.
struct StoreFloatProblem {
    int64_t frames = 1, pixels = 0, channels = 0;
    Element storage = Element::BF16;  ///< of the input
    float limit = std::numeric_limits<float>::infinity();
    uint32_t* not_finite = nullptr;  ///< on the device: set to 1 if an input is infinite or NaN; null: not checked
    Element output = Element::F32;   ///< F32 or F16
};
Refusal refusal(const StoreFloatProblem& problem);
LaunchShape launch_shape(const StoreFloatProblem& problem);
StoreFloatParams make_params(const StoreFloatProblem& problem, const FrameTable& frames);

/// Frames of three channels in [-1, 1] as pixels of four bytes, 0..255, to nearest, halves up; NaN 0, alpha opaque.
struct StorePictureProblem {
    int64_t frames = 1, pixels = 0;
    Element storage = Element::F32;  ///< of the input
    uint32_t* not_finite = nullptr;  ///< on the device: becomes 1 if a value is infinite or NaN; null: not asked
};
Refusal refusal(const StorePictureProblem& problem);
LaunchShape launch_shape(const StorePictureProblem& problem);
StorePictureParams make_params(const StorePictureProblem& problem, const FrameTable& frames);

}  // namespace kinetograph::gfx950
