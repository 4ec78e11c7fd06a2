#pragma once

#include <kinetograph/kernels/conv/gate.hpp>

/// Conditions of the methods on devices of Vulkan 1.3.
namespace kinetograph::vulkan13 {

std::span<const conv::Gate<conv::Subject>> tiles_gates();
std::span<const conv::Gate<conv::Subject>> slab_gates();

/// Whether it is a device of the back end "vulkan".
bool runs_on_vulkan(const conv::Chip& chip);
/// Whether DeviceInfo::features has that word: "matrix-bf16".
bool has_feature(const conv::Chip& chip, std::string_view feature);
/// Whether its subgroups multiply 16x16x16 matrices of the element with float32 sums, in sizes that the shaders take.
bool multiplies_matrices(const conv::Chip& chip, Element element);
/// Of the device's pipelines, by its word "subgroup-32"; 0 if it has none.
std::uint32_t subgroup_size(const conv::Chip& chip);

}  // namespace kinetograph::vulkan13
