// The maps that the kernels of a stand-in library take.
#pragma once

#include <kinetograph/kernels/isa/tensor_map.hpp>

namespace kinetograph::accel::cuda {

/// Of `desc`, which breaks no limit; valid as long as the library is loaded.
isa::TensorMap tensor_map(const isa::TensorMapDesc& desc);

}  // namespace kinetograph::accel::cuda
