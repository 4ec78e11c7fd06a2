#pragma once

#include <kinetograph/kernels/conv/images.hpp>

namespace kinetograph::cuda {

conv::Images images();  ///< those of fat_binaries.hpp

}  // namespace kinetograph::cuda
