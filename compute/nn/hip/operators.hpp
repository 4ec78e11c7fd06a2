// A decoder's passes on gfx950.
#pragma once

#include <kinetograph/compute/nn/operators.hpp>

namespace kinetograph::nn::hip {

/// `device` is of Kind::Hip and outlives the result. Errors: Unsupported (another architecture than gfx950).
Result<std::unique_ptr<Operators>> create_operators(accel::Device& device);

}  // namespace kinetograph::nn::hip
