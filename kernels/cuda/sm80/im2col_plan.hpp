#pragma once

#include <kinetograph/kernels/conv/plan.hpp>

namespace kinetograph::sm80 {

/// The matrix [pixels][q * r * s * c_in] is made in parts of at most 64 MiB and multiplied by the implicit GEMM's 1x1
/// form; groups become zeros in a filter over all channels. For problems that no other method accepts. Workspace: one
/// part.
conv::ConvPlan plan_im2col(const conv::ConvProblem& problem, const conv::Chip& chip);

}  // namespace kinetograph::sm80
