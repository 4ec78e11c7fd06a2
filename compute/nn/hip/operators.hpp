// A decoder's passes on AMD's chips, by the kernels of kernels/hip/gfx950/passes compiled for each.
#pragma once

#include <kinetograph/compute/nn/operators.hpp>

namespace kinetograph::nn::hip {

/// `device` is of the back end hip and outlives the result. Errors: Unsupported (an architecture that
/// kernels/chips.cmake does not have).
Result<std::unique_ptr<Operators>> create_operators(accel::Device& device);

}  // namespace kinetograph::nn::hip
