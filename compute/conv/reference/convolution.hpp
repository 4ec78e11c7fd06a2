// The reference back end: plain loops with sums in fp64. Slow and true; every problem is open to it.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>

namespace kinetograph::conv::reference {

/// Errors: none beyond those that Convolution::create has checked.
Result<std::unique_ptr<Convolution>> create(accel::Device& device, const ConvProblem& problem, Weights& weights);

}  // namespace kinetograph::conv::reference
