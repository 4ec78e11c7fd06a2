// The two ends of a decoder: planar float latents to channel-last frames, and frames to clamped floats or to pictures.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/engine/accel/accelerator.hpp>

#include <limits>
#include <span>

namespace kinetograph::nn {

/// out[pixel][c] = soft(sum over i of latent[i][pixel] * map[i][c] + map[channels][c]), rounded once to dtype; soft(x)
/// = soft_limit * tanh(x / soft_limit).
struct UnpackLatent {
    const std::byte* latent = nullptr;  ///< [channels, pixels], read when the stream gets there
    std::byte* output = nullptr;        ///< [pixels, channels]
    std::int64_t pixels = 0, channels = 0;
    const float* map = nullptr;                       ///< [channels + 1, channels], on the device; null: out is latent
    tensor::DType dtype = tensor::DType::BF16;        ///< of the output, F32 or BF16; on a GPU also F16
    float soft_limit = 0;                             ///< 0: none
    tensor::DType latent_dtype = tensor::DType::F32;  ///< F32, F16 or BF16
};
/// Errors: InvalidArgument (latents are F32, F16 or BF16), naming the pass.
Result<void> check_latent_dtype(std::string_view pass_name, tensor::DType dtype);
/// On the CPU; see Operators for any device. Errors: InvalidArgument, naming the pass.
Result<void> enqueue_unpack_latent(accel::Stream& stream, std::string_view pass_name, const UnpackLatent& work);

/// Clamps frames to [-limit, limit] and stores them one after the other as float32 or half; NaN stays NaN.
struct StoreFloat {
    std::span<const std::byte* const> input;    ///< frames of `elements`
    std::byte* output = nullptr;                ///< [frames, elements]; may be the only input frame, if both are F32
    std::int64_t elements = 0;                  ///< of one frame
    tensor::DType dtype = tensor::DType::BF16;  ///< of the input, F32 or BF16; on a GPU also F16
    float limit = std::numeric_limits<float>::infinity();
    std::uint32_t* not_finite = nullptr;  ///< on the device: becomes 1 if an input is infinite or NaN; null: not asked
    tensor::DType output_dtype = tensor::DType::F32;  ///< F32, or F16, rounded to nearest even
};
/// Where frame `index` is stored.
std::byte* stored_frame(const StoreFloat& work, std::size_t index);
/// Errors: InvalidArgument (stored as anything but F32 and F16), naming the pass.
Result<void> check_stored_dtype(std::string_view pass_name, tensor::DType dtype);
/// On the CPU; see Operators for any device. The span is copied before this returns.
/// Errors: InvalidArgument, naming the pass.
Result<void> enqueue_store_float(accel::Stream& stream, std::string_view pass_name, const StoreFloat& work);

/// A value in [-1, 1] to 8 bits: round((v + 1) * 127.5), halves up, limited to 0..255; NaN becomes 0.
std::uint8_t to_unorm8(float value);

/// Frames of three channels, nominal range [-1, 1], as opaque pictures: each value by to_unorm8(), alpha 255.
struct StorePicture {
    std::span<const std::byte* const> input;    ///< frames [pixels, 3]
    std::span<std::byte* const> output;         ///< as many, RGBA of 8 bits: [pixels, 4], 4-byte aligned
    std::int64_t pixels = 0;                    ///< of one frame
    tensor::DType dtype = tensor::DType::BF16;  ///< of the input, F32 or BF16; on a GPU also F16
    std::uint32_t* not_finite = nullptr;  ///< on the device: becomes 1 if a value is infinite or NaN; null: not asked
};
/// On the CPU; see Operators for any device. The spans are copied before this returns.
/// Errors: InvalidArgument, naming the pass.
Result<void> enqueue_store_picture(accel::Stream& stream, std::string_view pass_name, const StorePicture& work);

}  // namespace kinetograph::nn
