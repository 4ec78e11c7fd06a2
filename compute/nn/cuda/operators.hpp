// A decoder's passes on NVIDIA GPUs from sm_80 on.
#pragma once

#include <kinetograph/compute/nn/operators.hpp>

namespace kinetograph::nn::cuda {

/// `device` is of the back end cuda and outlives the result. Loads every kernel at once, so that enqueueing a pass
/// loads none. Errors: Unsupported (this build has no fat binaries), those of Device::load.
Result<std::unique_ptr<Operators>> create_operators(accel::Device& device);

}  // namespace kinetograph::nn::cuda
