#pragma once

#include <kinetograph/kernels/conv/plan.hpp>

/// A convolution's tensors as dense blocks, for plans that take one address per tensor.
namespace kinetograph::sm100 {

/// Offsets of the dense copies in a workspace.
struct DenseRoom {
    uint64_t input = 0, output = 0, residual = 0;  ///< each at the beginning of a part
    uint64_t end = 0;
};
/// The offsets if the room begins at byte `first` of the workspace.
DenseRoom dense_room(const conv::ConvProblem& problem, uint64_t first);

/// [n, d, h, w, c_in]; [n, d_out, h_out, w_out, k]; the same or null.
struct DenseTensors {
    std::byte* input = nullptr;
    std::byte* output = nullptr;
    std::byte* residual = nullptr;
};

/// The frames themselves if they are contiguous in memory, otherwise room in the workspace, with steps that copy the
/// inputs there. `stored` are the output frames.
DenseTensors append_gather(std::vector<conv::ConvStep>& steps, const conv::ConvProblem& problem,
                           const conv::ConvTensors& tensors, std::span<std::byte* const> stored, const DenseRoom& room);
/// Steps that copy an output in the workspace to its frames.
void append_scatter(std::vector<conv::ConvStep>& steps, const conv::ConvProblem& problem,
                    std::span<std::byte* const> stored, const std::byte* output);

}  // namespace kinetograph::sm100
