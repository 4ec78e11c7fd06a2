// Launches of the sm_80 kernels' passes: a loaded kernel, a grid, a struct of parameters.
#pragma once

#include <kinetograph/compute/conv/kernels.hpp>
#include <kinetograph/compute/tensor/tensor.hpp>
#include <kinetograph/kernels/cuda/sm80/pass_launch.hpp>
#include <kinetograph/kernels/cuda/sm80/pass_params.hpp>

#include <algorithm>
#include <span>

namespace kinetograph::conv::cuda {

/// Does nothing for an empty launch, which the driver would refuse.
template <class Params>
void launch_pass(accel::Stream& stream, std::string_view pass_name, accel::Kernel& kernel,
                 const sm80::PassLaunch& launch, const Params& params) {
    if (launch.empty()) return;
    stream.launch({pass_name,
                   kernel,
                   {launch.grid[0], launch.grid[1], launch.grid[2]},
                   {launch.threads, 1, 1},
                   {},
                   launch.shared_bytes,
                   accel::bytes_of(params)});
}

/// Launches a pass over any number of frames, as many at a time as params.frames holds; fills in params.frames.
/// `shape(frames)` is the launch over that many.
template <class Params, class Shape>
void launch_frames(accel::Stream& stream, std::string_view pass_name, accel::Kernel& kernel, Params params,
                   std::span<const std::byte* const> input, std::span<std::byte* const> output, const Shape& shape) {
    for (std::size_t first = 0; first < input.size(); first += sm80::kMaxPassFrames) {
        const std::size_t count = std::min<std::size_t>(sm80::kMaxPassFrames, input.size() - first);
        params.frames = {};
        std::copy_n(input.begin() + static_cast<std::ptrdiff_t>(first), count, params.frames.input);
        std::copy_n(output.begin() + static_cast<std::ptrdiff_t>(first), count, params.frames.output);
        launch_pass(stream, pass_name, kernel, shape(static_cast<std::uint32_t>(count)), params);
    }
}

}  // namespace kinetograph::conv::cuda
