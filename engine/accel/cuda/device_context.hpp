// What the other files of this folder ask of a Device that may be one of ours.
#pragma once

#include <kinetograph/engine/accel/cuda/context.hpp>

namespace kinetograph::accel::cuda {

/// Null where `device` is not a CUDA device.
std::shared_ptr<Context> context_of(const Device& device);

}  // namespace kinetograph::accel::cuda
