#pragma once

#include <kinetograph/kernels/hip/gfx950/passes/frame_table.hpp>

/// The first and last passes of a decoder, and the sum of a convolution's parts. All compute in float32. Grid: lanes,
/// frames.
namespace kinetograph::gfx950 {

/// out[pixel][c] = sum over i of latent[i][pixel] * map[i][c] + map[channels][c].
struct UnpackLatentParams {
    FrameTable frames;  ///< [channels, pixels] to [pixels, channels]
    const float* map;   ///< [channels + 1, channels]; null: out is latent
    uint32_t pixels, channels;
    float soft_limit = 0;           ///< limit * tanh(value / limit) is stored; 0: the value
    Element latent = Element::F32;  ///< F32, F16 or BF16
};

/// The float32 sums of all parts of K as a convolution's output: relu(silu(scale * sum + bias) + beta * source).
struct JoinSumsParams {
    FrameTable frames;                ///< .input: the first part's sums [pixels, channels]
    const void* source[kMostFrames];  ///< as the output
    uint64_t part_bytes;              ///< from a part's sums to the next part's
    const float* bias;                ///< [channels]; null: 0
    const float* scales;              ///< [channels]; null: 1
    uint32_t parts;
    uint32_t elements, channels;  ///< of a frame, of a pixel
    uint32_t silu, adds, relu;    ///< 1: SiLU; 1: there is a source; 1: ReLU
    float beta;
    float negative_slope;  ///< of the ReLU
};

/// Frames limited to [-limit, limit] and converted, rounded once; NaN stays NaN.
struct StoreFloatParams {
    FrameTable frames;
    uint32_t pixels, channels;
    float limit;
    uint32_t* not_finite = nullptr;  ///< set to 1 if an input is infinite or NaN; null: not checked
    Element output = Element::F32;   ///< F32 or F16
};

/// Pictures of three channels, nominal range [-1, 1], opaque.
struct StorePictureParams {
    FrameTable frames;  ///< [pixels, 3] to [pixels, 4]
    uint32_t pixels;
    uint32_t* not_finite = nullptr;  ///< becomes 1 if a value is infinite or NaN; null: not asked
};

}  // namespace kinetograph::gfx950
