#pragma once

#include <kinetograph/kernels/conv/plan.hpp>

/// Filters in the shaders' order.
namespace kinetograph::vulkan13 {

/// filter   [k][c][q][r][s] fp32, PyTorch's order, c of one group
/// returns  [k][q][r][s][c] of problem.weight.element, rounded to nearest even; of a sub-pixel problem
///          [parity][k][q][2][2][c]: taps that fall on the same stored pixel are summed in fp32 and rounded once
conv::ParameterPacking tiles_packing(const conv::ConvProblem& problem);

/// returns  [parity][q][r][s][c_in][filters], of which those from k on are zero; 2 x 2 taps of a sub-pixel problem
conv::ParameterPacking slab_packing(const conv::ConvProblem& problem, std::int64_t filters);

}  // namespace kinetograph::vulkan13
