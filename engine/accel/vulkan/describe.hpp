// What an engine's Vulkan device is as an accelerator.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/vulkan/device.hpp>

namespace kinetograph::accel::vulkan {

inline constexpr std::string_view kKind = "vulkan";
inline constexpr std::string_view kArchitecture = "vulkan1.3";

/// The limits that launches and allocations are checked against.
struct ComputeLimits {
    std::uint32_t subgroup = 0;                               ///< size that pipelines are created with
    bool sets_subgroup = false;                               ///< it may be required of a pipeline
    std::uint32_t subgroups = 0, threads = 0, threads_x = 0;  ///< of a workgroup
    Extent3 workgroups;                                       ///< of a dispatch
    std::uint64_t allocation_bytes = 0;                       ///< of one
};
ComputeLimits compute_limits(const ::kinetograph::vulkan::Instance& instance, VkPhysicalDevice device);

/// The features without which nothing is computed on the device; empty if it has them all.
std::vector<std::string> missing_features(const ::kinetograph::vulkan::DeviceReport& report);

/// DeviceInfo::features is words for gates: "subgroup-32" (the size that kernels run with), "float16" and "int8" (the
/// type and its storage), and of VK_KHR_cooperative_matrix "matrix-f16", "matrix-bf16" (16 x 16 x 16, sums in fp32),
/// "matrix-u8s8" and "matrix-s8s8" (16 x 16 x 32, sums in int32; types of A and B).
DeviceInfo describe(const ::kinetograph::vulkan::Instance& instance, const ::kinetograph::vulkan::DeviceReport& report);

}  // namespace kinetograph::accel::vulkan
