#pragma once

#include <kinetograph/kernels/conv/plan.hpp>
#include <kinetograph/kernels/cuda/sm90/cost.hpp>

namespace kinetograph::sm90 {

/// q-slice-sm90: output[t] = sum over q of conv2d(input[t + q], filter[q]), equal to one launch over all taps if stride
/// and dilation are 1 and nothing is padded in time. Works on groups of output frames: as many as have fp32 sums that
/// fit into cuda::kQSliceSumBytes, at least one. All slices of a group run before the next group. Workspace: a group's
/// sums.
conv::ConvPlan plan_q_slice(const conv::ConvProblem& problem, const conv::Chip& chip);
/// The same with the given tile of sum_configs(), which fits the problem or the problem without its norm.
conv::ConvPlan plan_q_slice_in(const NamedConvConfig& tile, const conv::ConvProblem& problem, const conv::Chip& chip);

}  // namespace kinetograph::sm90
