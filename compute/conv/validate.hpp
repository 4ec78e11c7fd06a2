// The requirements of a ConvProblem.
#pragma once

#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/kernels/conv/problem.hpp>

namespace kinetograph::conv {

/// Errors: InvalidArgument naming the field, its value and what was wanted; OutOfRange above 2^31 - 1 elements of one
/// frame.
Result<void> validate(const ConvProblem& problem);

}  // namespace kinetograph::conv
