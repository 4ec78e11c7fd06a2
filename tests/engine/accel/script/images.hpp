#pragma once

#include <kinetograph/kernels/conv/images.hpp>

namespace kinetograph::script {

conv::Images images();  ///< one: "steps"

}  // namespace kinetograph::script
