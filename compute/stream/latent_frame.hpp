// LatentFrame: what a step decodes, where the accelerator has it.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/engine/base/clock.hpp>
#include <kinetograph/engine/interop/timeline_point.hpp>

namespace kinetograph::stream {

/// One latent frame or several where kernels of the accelerator address them: memory that accel::Device has made or
/// imported, or any other allocation of the same context.
struct LatentFrame {
    const std::byte* address = nullptr;        ///< [count, z_dim, h, w], untouched until the step has read it
    std::uint64_t bytes = 0;                   ///< at least what `count` latent frames take
    interop::TimelinePoint ready{};            ///< when its values are there; empty: they are there now
    tensor::DType dtype = tensor::DType::F32;  ///< F32, F16 or BF16
    /// When its frames are wanted, on the host's axis: for clips that share a runner, in place of the time that follows
    /// from the stream's rate; 0: not stated.
    Nanoseconds due{};
    std::int64_t count = 1;  ///< latent frames; 1 in a clip's first step
    /// When the input came for which they were made, on the host's axis, for SourceStats::latencies; 0: not stated.
    Nanoseconds input{};
};

}  // namespace kinetograph::stream
