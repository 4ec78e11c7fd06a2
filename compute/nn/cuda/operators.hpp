// A decoder's passes on NVIDIA GPUs since sm_80.
#pragma once

#include <kinetograph/compute/nn/operators.hpp>

namespace kinetograph::nn::cuda {

/// `device` is of Kind::Cuda and outlives the result. Loads every kernel here, none when passes are enqueued.
/// Errors: Unsupported (this build has no fat binaries), those of Device::load.
Result<std::unique_ptr<Operators>> create_operators(accel::Device& device);

}  // namespace kinetograph::nn::cuda
