#pragma once

#include <kinetograph/kernels/conv/chips.hpp>

/// Convolutions and operators of any device of Vulkan 1.3. Pure host code.
namespace kinetograph::vulkan13 {

std::span<const conv::ConvMethod> methods();
std::span<const conv::ConvModel> models();
std::span<const conv::OpMethod> operators();
/// None: a device of any vendor is a Vulkan device.
std::span<const conv::KnownDevice> devices();

}  // namespace kinetograph::vulkan13
