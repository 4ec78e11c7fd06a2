#pragma once

#include <kinetograph/kernels/conv/plan.hpp>

namespace kinetograph::sm80 {

/// Writes the matrix [pixels][q * r * s * c_in] in parts of at most 64 MiB and multiplies each by the implicit GEMM's
/// 1x1 form; a grouped filter becomes one over all channels, with zeros. For problems that no other method accepts.
/// Workspace: one part.
conv::ConvPlan plan_im2col(const conv::ConvProblem& problem, const conv::Chip& chip);

}  // namespace kinetograph::sm80
