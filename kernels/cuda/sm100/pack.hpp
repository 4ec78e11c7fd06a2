#pragma once

#include <kinetograph/kernels/conv/plan.hpp>

namespace kinetograph::sm100 {

/// [k][c][q][r][s] to [k][q][r][s][c] of problem.input.element, each number rounded once; c = c_in / groups.
std::vector<std::byte> pack_filter(const conv::ConvProblem& problem, std::span<const float> filter);

/// That packing, used by every method here except im2col.
conv::ParameterPacking filter_packing(const conv::ConvProblem& problem);

}  // namespace kinetograph::sm100
