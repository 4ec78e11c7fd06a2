// For builds that find no Vulkan headers: the names of Vulkan that this library's headers use, and what copies to
// images need. No Vulkan object is ever made of them, because no device can be opened (absent.cpp).
#pragma once

#include <cstdint>

#define VK_NULL_HANDLE nullptr
#define VK_TRUE 1U
#define VKAPI_ATTR
#define VKAPI_CALL

using VkBool32 = std::uint32_t;
using VkDeviceSize = std::uint64_t;

#define KINETOGRAPH_HANDLES(X)                                                                                        \
    X(VkInstance) X(VkPhysicalDevice) X(VkDevice) X(VkQueue) X(VkSemaphore) X(VkFence) X(VkCommandBuffer) X(VkBuffer) \
    X(VkImage) X(VkImageView) X(VkSampler) X(VkDeviceMemory) X(VkSurfaceKHR) X(VkDescriptorSet)                       \
    X(VkDescriptorSetLayout) X(VkDescriptorPool) X(VkPipeline) X(VkPipelineLayout) X(VkPipelineCache)                 \
    X(VkDebugUtilsMessengerEXT)
#define KINETOGRAPH_DECLARE(name) using name = struct name##_T*;
KINETOGRAPH_HANDLES(KINETOGRAPH_DECLARE)
#undef KINETOGRAPH_DECLARE
#undef KINETOGRAPH_HANDLES

#define KINETOGRAPH_STRUCTURES(X)                                                                             \
    X(VkClearColorValue) X(VkDebugUtilsMessengerCallbackDataEXT) X(VkImageCreateInfo) X(VkMemoryBarrier2)     \
    X(VkMemoryRequirements) X(VkPhysicalDeviceFeatures2) X(VkPhysicalDeviceLimits)                            \
    X(VkPhysicalDeviceMemoryProperties) X(VkPhysicalDeviceVulkan12Features) X(VkPhysicalDeviceVulkan13Features) \
    X(VkQueueFamilyProperties) X(VkSemaphoreSubmitInfo) X(VkVertexInputAttributeDescription)
#define KINETOGRAPH_DECLARE(name) \
    struct name {};
KINETOGRAPH_STRUCTURES(KINETOGRAPH_DECLARE)
#undef KINETOGRAPH_DECLARE
#undef KINETOGRAPH_STRUCTURES

#define KINETOGRAPH_ENUMS(X)                                                                                       \
    X(VkDebugUtilsMessageSeverityFlagBitsEXT) X(VkDescriptorType) X(VkFormat) X(VkObjectType) X(VkPhysicalDeviceType) \
    X(VkPipelineBindPoint) X(VkResult)
#define KINETOGRAPH_DECLARE(name) \
    enum name : int {};
KINETOGRAPH_ENUMS(KINETOGRAPH_DECLARE)
#undef KINETOGRAPH_DECLARE
#undef KINETOGRAPH_ENUMS

using VkFlags = std::uint32_t;
using VkBufferUsageFlags = VkFlags;
using VkDebugUtilsMessageTypeFlagsEXT = VkFlags;
using VkImageUsageFlags = VkFlags;
using VkQueueFlags = VkFlags;
using VkShaderStageFlags = VkFlags;
using VkAccessFlags2 = std::uint64_t;
using VkPipelineStageFlags2 = std::uint64_t;

inline constexpr VkPipelineStageFlags2 VK_PIPELINE_STAGE_2_NONE = 0;
inline constexpr VkAccessFlags2 VK_ACCESS_2_NONE = 0;
inline constexpr VkBufferUsageFlags VK_BUFFER_USAGE_TRANSFER_SRC_BIT = 1, VK_BUFFER_USAGE_TRANSFER_DST_BIT = 2,
                                    VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT = 16, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT = 32,
                                    VK_BUFFER_USAGE_INDEX_BUFFER_BIT = 64, VK_BUFFER_USAGE_VERTEX_BUFFER_BIT = 128,
                                    VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT = 256;

enum VkImageLayout : int { VK_IMAGE_LAYOUT_UNDEFINED = 0, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL = 7 };
enum VkImageAspectFlagBits : int { VK_IMAGE_ASPECT_COLOR_BIT = 1 };

struct VkBufferImageCopy {
    VkDeviceSize bufferOffset;
    struct {
        VkFlags aspectMask;
        std::uint32_t mipLevel, baseArrayLayer, layerCount;
    } imageSubresource;
    struct {
        std::uint32_t width, height, depth;
    } imageExtent;
};

struct VkPhysicalDevicePresentIdFeaturesKHR {
    VkBool32 presentId;
};
struct VkPhysicalDevicePresentWaitFeaturesKHR {
    VkBool32 presentWait;
};

using PFN_vkVoidFunction = void (*)();
using PFN_vkGetInstanceProcAddr = PFN_vkVoidFunction (*)(VkInstance instance, const char* name);
#define KINETOGRAPH_FUNCTIONS(X)                                                                                    \
    X(vkDestroyInstance) X(vkEnumeratePhysicalDevices) X(vkEnumerateDeviceExtensionProperties)                      \
    X(vkGetPhysicalDeviceProperties2) X(vkGetPhysicalDeviceFeatures2) X(vkGetPhysicalDeviceMemoryProperties2)       \
    X(vkGetPhysicalDeviceQueueFamilyProperties2) X(vkGetPhysicalDeviceFormatProperties2)                            \
    X(vkGetPhysicalDeviceExternalBufferProperties) X(vkGetPhysicalDeviceImageFormatProperties2) X(vkCreateDevice)   \
    X(vkGetDeviceProcAddr) X(vkDestroySurfaceKHR) X(vkGetPhysicalDeviceSurfaceSupportKHR)                           \
    X(vkGetPhysicalDeviceSurfaceCapabilitiesKHR) X(vkGetPhysicalDeviceSurfaceFormatsKHR)                            \
    X(vkGetPhysicalDeviceSurfacePresentModesKHR) X(vkGetPhysicalDeviceCalibrateableTimeDomainsEXT)                  \
    X(vkCreateDebugUtilsMessengerEXT) X(vkDestroyDebugUtilsMessengerEXT) X(vkSetDebugUtilsObjectNameEXT)            \
    X(vkCmdBeginDebugUtilsLabelEXT) X(vkCmdEndDebugUtilsLabelEXT)
#define KINETOGRAPH_DECLARE(name) using PFN_##name = PFN_vkVoidFunction;
KINETOGRAPH_FUNCTIONS(KINETOGRAPH_DECLARE)
#undef KINETOGRAPH_DECLARE
#undef KINETOGRAPH_FUNCTIONS
