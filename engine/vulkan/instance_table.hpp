// InstanceTable: the instance functions that we call, one table per instance (volk's globals serve only one).
#pragma once

#include <vulkan/vulkan_core.h>

namespace kinetograph::vulkan {

// Functions that may be null belong to extensions: surface, debug_utils, calibrated timestamps.
#define KINETOGRAPH_INSTANCE_FUNCTIONS(X)          \
    X(vkDestroyInstance)                           \
    X(vkEnumeratePhysicalDevices)                  \
    X(vkEnumerateDeviceExtensionProperties)        \
    X(vkGetPhysicalDeviceProperties2)              \
    X(vkGetPhysicalDeviceFeatures2)                \
    X(vkGetPhysicalDeviceMemoryProperties2)        \
    X(vkGetPhysicalDeviceQueueFamilyProperties2)   \
    X(vkGetPhysicalDeviceFormatProperties2)        \
    X(vkGetPhysicalDeviceExternalBufferProperties) \
    X(vkGetPhysicalDeviceImageFormatProperties2)   \
    X(vkCreateDevice)                              \
    X(vkGetDeviceProcAddr)
#define KINETOGRAPH_INSTANCE_EXTENSION_FUNCTIONS(X)   \
    X(vkDestroySurfaceKHR)                            \
    X(vkGetPhysicalDeviceSurfaceSupportKHR)           \
    X(vkGetPhysicalDeviceSurfaceCapabilitiesKHR)      \
    X(vkGetPhysicalDeviceSurfaceFormatsKHR)           \
    X(vkGetPhysicalDeviceSurfacePresentModesKHR)      \
    X(vkGetPhysicalDeviceCalibrateableTimeDomainsEXT) \
    X(vkCreateDebugUtilsMessengerEXT)                 \
    X(vkDestroyDebugUtilsMessengerEXT)                \
    X(vkSetDebugUtilsObjectNameEXT)                   \
    X(vkCmdBeginDebugUtilsLabelEXT)                   \
    X(vkCmdEndDebugUtilsLabelEXT)

struct InstanceTable {
#define KINETOGRAPH_DECLARE(name) PFN_##name name = nullptr;
    KINETOGRAPH_INSTANCE_FUNCTIONS(KINETOGRAPH_DECLARE)
    KINETOGRAPH_INSTANCE_EXTENSION_FUNCTIONS(KINETOGRAPH_DECLARE)
#undef KINETOGRAPH_DECLARE
};

}  // namespace kinetograph::vulkan
