// What lies between two passes of a decoding step, and where a pass finds it.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/engine/accel/accelerator_lane.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kinetograph::vae {

/// An activation between two passes: `frames` dense [height, width, channels] blocks, one after the other.
struct Tensor {
    graph::Buffer buffer;
    std::int64_t frames = 0;
    std::int64_t height = 0, width = 0, channels = 0;
    tensor::DType dtype = tensor::DType::BF16;

    std::int64_t pixels() const { return height * width; }
    std::uint64_t frame_bytes() const {
        return static_cast<std::uint64_t>(pixels() * channels) * tensor::bytes_per_element(dtype);
    }
};

inline void append_frames(std::vector<std::byte*>& addresses, std::byte* first, std::int64_t frames,
                          std::uint64_t bytes) {
    for (std::int64_t t = 0; t < frames; ++t) addresses.push_back(first + static_cast<std::uint64_t>(t) * bytes);
}

/// Addresses of the frames; none for a tensor that is not there.
inline std::vector<std::byte*> addresses(const accel::PassContext& lane, const Tensor& tensor) {
    std::vector<std::byte*> result;
    if (tensor.buffer) append_frames(result, lane.address(tensor.buffer), tensor.frames, tensor.frame_bytes());
    return result;
}

/// The `history` kept frames, where a convolution reads them, and then the tensor's own.
inline std::vector<const std::byte*> causal_input(const accel::PassContext& lane, graph::Buffer kept,
                                                  std::int64_t history, const Tensor& tensor) {
    std::vector<std::byte*> result;
    if (kept) append_frames(result, lane.address(kept), history, tensor.frame_bytes());
    append_frames(result, lane.address(tensor.buffer), tensor.frames, tensor.frame_bytes());
    return {result.begin(), result.end()};
}

inline std::vector<const std::byte*> read_only(const std::vector<std::byte*>& frames) {
    return {frames.begin(), frames.end()};
}

}  // namespace kinetograph::vae
