#pragma once

#include <kinetograph/kernels/conv/images.hpp>

namespace kinetograph::hip {

conv::Images images();  ///< those of code_objects.hpp

}  // namespace kinetograph::hip
