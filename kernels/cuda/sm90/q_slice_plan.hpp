#pragma once

#include <kinetograph/kernels/conv/plan.hpp>
#include <kinetograph/kernels/cuda/sm90/cost.hpp>

namespace kinetograph::sm90 {

/// q-slice-sm90: output[t] = sum over q of conv2d(input[t + q], filter[q]), equal to one launch over all taps if stride
/// and dilation are 1 and nothing is padded in time. Works on as many output frames at a time as have their fp32 sums
/// in sm80::kQSliceSumBytes, or on one; all slices of some before the next. Workspace: their sums.
conv::ConvPlan plan_q_slice(const conv::ConvProblem& problem, const conv::Chip& chip);
/// The same in that one of sum_configs(), which fits it, or it without its norm.
conv::ConvPlan plan_q_slice_in(const NamedConvConfig& tile, const conv::ConvProblem& problem, const conv::Chip& chip);

}  // namespace kinetograph::sm90
