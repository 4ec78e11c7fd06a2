// A Vulkan device by its handles: an application's, as it passes it to Device::adopt, or the library's own.
#pragma once

#include <kinetograph/engine/vulkan/handles.hpp>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace kinetograph::vulkan {

struct AdoptedQueue {
    VkQueue handle = nullptr;  ///< null: share the graphics queue
    std::uint32_t family = 0;
    std::mutex* mutex = nullptr;  ///< the host's mutex for this queue; null: no other thread submits to it
};

struct AdoptedDevice {
    VkPhysicalDevice physical = nullptr;
    VkDevice device = nullptr;
    AdoptedQueue graphics;  ///< must serve graphics and compute
    AdoptedQueue compute;
    AdoptedQueue transfer;
    const void* create_chain = nullptr;   ///< VkDeviceCreateInfo::pNext, to check features; null: they are not checked
    std::vector<std::string> extensions;  ///< the extensions that the host enabled
};

/// With its instance.
struct ApplicationVulkan {
    VkInstance instance = nullptr;  ///< made for Vulkan 1.3 or newer
    PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
    AdoptedDevice device;
};

}  // namespace kinetograph::vulkan
