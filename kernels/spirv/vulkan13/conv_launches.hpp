#pragma once

#include <functional>
#include <kinetograph/kernels/conv/plan.hpp>
#include <kinetograph/kernels/spirv/vulkan13/conv_params.hpp>

/// Parts of the plans of all shaders that convolve.
namespace kinetograph::vulkan13 {

/// Everything but the frames and n_tiles. Sub-pixel problems are taken as such.
ConvParams shape_params(const conv::ConvProblem& problem, const conv::ParameterAddresses& parameters);

/// Workgroups of one frame (and parity), of so many threads: their y is filled in.
struct Grid {
    std::uint32_t x, z, threads;
};
/// The launches of a convolution without its norm, each of as many frames as its parameters hold.
std::vector<conv::ConvStep> conv_launches(const conv::ConvProblem& problem, ConvParams params,
                                          const conv::ConvTensors& tensors, const Grid& grid);

/// The steps of a convolution without its norm.
using Launches = std::function<std::vector<conv::ConvStep>(const conv::ConvTensors&, const conv::ParameterAddresses&)>;
/// `plan`, which has one kernel, with `launches` of it as its steps, followed by the norm as a pass of its own.
conv::ConvPlan with_norm(const conv::ConvProblem& problem, const conv::Chip& chip, conv::ConvPlan plan,
                         Launches launches);

}  // namespace kinetograph::vulkan13
