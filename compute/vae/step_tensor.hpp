// The tensors between passes of a decoding step: how a pass declares them, and where it finds them.
#pragma once

#include <kinetograph/compute/nn/network.hpp>
#include <kinetograph/engine/accel/accelerator_lane.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace kinetograph::vae {

/// An activation between two passes: `frames` dense [height, width, channels] blocks, one after the other, or some rows
/// of each.
struct Tensor {
    graph::Buffer buffer;
    std::int64_t frames = 0;
    std::int64_t height = 0, width = 0, channels = 0;
    conv::Storage stored{};
    std::int64_t first = 0;         ///< frame of the buffer that is its first
    std::int64_t top = 0;           ///< row of the buffer's frames that is its first
    std::int64_t frame_height = 0;  ///< rows of the buffer's frames; 0: `height`

    std::int64_t pixels() const { return height * width; }
    std::uint64_t row_bytes() const {
        return static_cast<std::uint64_t>(width * channels) * element_bytes(stored.element);
    }
    std::uint64_t frame_bytes() const { return static_cast<std::uint64_t>(height) * row_bytes(); }
    /// Bytes from a frame to the next in the buffer.
    std::uint64_t pitch_bytes() const {
        return static_cast<std::uint64_t>(frame_height > 0 ? frame_height : height) * row_bytes();
    }
    /// Rows [from, from + count).
    Tensor rows(std::int64_t from, std::int64_t count) const {
        Tensor part = *this;
        part.frame_height = frame_height > 0 ? frame_height : height;
        part.top = top + from;
        part.height = count;
        return part;
    }
};

/// A tensor that is not made yet: without a buffer.
inline Tensor tensor_of(const nn::Extent& extent, conv::Storage stored) {
    return {{}, extent.frames, extent.height, extent.width, extent.channels, stored};
}

inline Tensor read(graph::PassBuilder& pass, Tensor tensor) {
    tensor.buffer = pass.read(tensor.buffer, graph::Access::KernelRead);
    return tensor;
}

/// A tensor that this pass, which is named `name`, makes in `memory`.
inline Tensor create(graph::PassBuilder& pass, const std::string& name, Tensor tensor, graph::MemoryDomain memory) {
    tensor.buffer =
        pass.create(name + ".out", {static_cast<std::uint64_t>(tensor.frames) * tensor.frame_bytes(), 256, memory},
                    graph::Access::KernelWrite);
    return tensor;
}

/// Makes the Error of an enqueue the stream's own: a pass that is recorded can only fail later.
inline void report(const accel::PassContext& lane, Result<void> result) {
    if (result) return;
    lane.stream().enqueue(lane.pass_name(),
                          [error = std::move(result.error())]() -> Result<void> { return fail(error); });
}

/// Addresses of the frames; none for a tensor that is not there.
inline std::vector<std::byte*> addresses(const accel::PassContext& lane, const Tensor& tensor) {
    std::vector<std::byte*> result;
    if (!tensor.buffer) return result;
    std::byte* frame = lane.address(tensor.buffer) + static_cast<std::uint64_t>(tensor.first) * tensor.pitch_bytes() +
                       static_cast<std::uint64_t>(tensor.top) * tensor.row_bytes();
    for (std::int64_t t = 0; t < tensor.frames; ++t, frame += tensor.pitch_bytes()) result.push_back(frame);
    return result;
}

/// The same of two tensors, one after the other.
inline std::vector<std::byte*> addresses(const accel::PassContext& lane, const Tensor& before, const Tensor& tensor) {
    std::vector<std::byte*> result = addresses(lane, before);
    const std::vector<std::byte*> rest = addresses(lane, tensor);
    result.insert(result.end(), rest.begin(), rest.end());
    return result;
}

inline std::vector<const std::byte*> read_only(const std::vector<std::byte*>& frames) {
    return {frames.begin(), frames.end()};
}

/// Every frame `times` times, one after the other.
inline std::vector<const std::byte*> repeated(const std::vector<const std::byte*>& frames, std::int64_t times) {
    std::vector<const std::byte*> result;
    for (const std::byte* frame : frames) result.insert(result.end(), static_cast<std::size_t>(times), frame);
    return result;
}

}  // namespace kinetograph::vae
