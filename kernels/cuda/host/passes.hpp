#pragma once

#include <algorithm>
#include <kinetograph/kernels/conv/operator.hpp>
#include <kinetograph/kernels/cuda/host/pass_launch.hpp>

/// The passes of frame_passes.cu as steps of a plan.
namespace kinetograph::cuda {

/// Appends one launch of `kernel`, unless it is empty. Step: conv::ConvStep or ConvLaunch.
template <class Step, class Params>
void append_launch(std::vector<Step>& steps, uint32_t kernel, const PassLaunch& launch, const Params& params) {
    if (launch.empty()) return;
    steps.emplace_back(conv::ConvLaunch{.kernel = kernel,
                                        .grid = {launch.grid[0], launch.grid[1], launch.grid[2]},
                                        .threads = launch.threads,
                                        .shared_bytes = launch.shared_bytes,
                                        .arguments = conv::Arguments::of(params)});
}

/// Appends a pass over any number of frames: launches of `kernel`, each over as many frames as params.frames holds,
/// which this function fills in. `shape(frames)` is the launch over that many.
template <class Step, class Params, class Shape>
void append_pass(std::vector<Step>& steps, uint32_t kernel, Params params, std::span<const std::byte* const> input,
                 std::span<std::byte* const> output, const Shape& shape) {
    for (size_t first = 0; first < input.size(); first += kMaxPassFrames) {
        const size_t count = std::min<size_t>(kMaxPassFrames, input.size() - first);
        params.frames = {};
        std::copy_n(input.begin() + static_cast<ptrdiff_t>(first), count, params.frames.input);
        std::copy_n(output.begin() + static_cast<ptrdiff_t>(first), count, params.frames.output);
        append_launch(steps, kernel, shape(static_cast<uint32_t>(count)), params);
    }
}

/// The launches of a norm: one over as many frames as it takes or, if the problem adds, one a frame.
void append_norm(std::vector<conv::ConvStep>& steps, uint32_t kernel, const conv::NormProblem& problem,
                 const conv::OpTensors& tensors);

/// The RMS norm of a convolution's output as a separate pass, for kernels whose tiles do not hold all channels.
conv::KernelName norm_kernel(const conv::ConvProblem& problem);
void append_norm(std::vector<conv::ConvStep>& steps, uint32_t kernel, const conv::ConvProblem& problem,
                 const conv::ParameterAddresses& parameters, std::span<std::byte* const> stored,
                 std::span<std::byte* const> normed);
/// Predicted from memory traffic.
double norm_seconds(const conv::ConvProblem& problem, const conv::Chip& chip);

}  // namespace kinetograph::cuda
