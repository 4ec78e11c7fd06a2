#pragma once

#include <kinetograph/kernels/conv/images.hpp>

namespace kinetograph::spirv {

conv::Images images();  ///< those of modules.hpp, which run on any Vulkan device

}  // namespace kinetograph::spirv
