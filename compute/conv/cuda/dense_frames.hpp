// A convolution's tensors as dense blocks, for plans that take one address a tensor.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>

namespace kinetograph::conv::cuda {

/// Where the dense copies lie in a workspace; each begins a part (workspace.hpp).
struct DenseRoom {
    std::uint64_t input = 0, output = 0, residual = 0;  ///< offsets
    std::uint64_t end = 0;
};
/// Room from `first` on.
DenseRoom dense_room(const ConvProblem& problem, std::uint64_t first);

/// [n, d, h, w, c_in], [n, d_out, h_out, w_out, k], the same or null.
struct DenseTensors {
    std::byte* input = nullptr;
    std::byte* output = nullptr;
    std::byte* residual = nullptr;
};

/// The frames themselves where they follow one another in memory, otherwise copies of them in the workspace. `stored`
/// are the output frames.
DenseTensors enqueue_gather(accel::Stream& stream, const ConvProblem& problem, const ConvTensors& tensors,
                            std::span<std::byte* const> stored, const DenseRoom& room);
/// Takes an output that was made in the workspace to its frames.
void enqueue_scatter(accel::Stream& stream, const ConvProblem& problem, std::span<std::byte* const> stored,
                     const std::byte* output);

}  // namespace kinetograph::conv::cuda
