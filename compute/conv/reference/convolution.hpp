// The reference back end: plain loops with sums in fp64. Slow and accurate; takes every problem except a norm of F16
// frames.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>

namespace kinetograph::conv::reference {

/// Errors: none; Convolution::create has checked the arguments.
Result<std::unique_ptr<Convolution>> create(accel::Device& device, const ConvProblem& problem, Weights& weights);

}  // namespace kinetograph::conv::reference
