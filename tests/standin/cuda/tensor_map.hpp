// Tensor maps for the kernels of a stand-in library.
#pragma once

#include <kinetograph/kernels/isa/tensor_map.hpp>

namespace kinetograph::accel::cuda {

/// `desc` must break no limit; the map is valid as long as the library is loaded.
isa::TensorMap tensor_map(const isa::TensorMapDesc& desc);

}  // namespace kinetograph::accel::cuda
