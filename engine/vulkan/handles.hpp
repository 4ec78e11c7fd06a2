// Vulkan's names in the headers of frames and sessions. With KINETOGRAPH_WITHOUT_VULKAN they are declared here; the
// package defines it if it finds no Vulkan headers. Applications then get frames in host or accelerator memory.
#pragma once

#ifndef KINETOGRAPH_WITHOUT_VULKAN
#include <vulkan/vulkan_core.h>
#else
// As vulkan_core.h declares them for 64-bit machines: enough to hold null handles.
// NOLINTBEGIN(modernize-use-using)
typedef struct VkInstance_T* VkInstance;
typedef struct VkPhysicalDevice_T* VkPhysicalDevice;
typedef struct VkDevice_T* VkDevice;
typedef struct VkQueue_T* VkQueue;
typedef struct VkSemaphore_T* VkSemaphore;
typedef void (*PFN_vkVoidFunction)();
typedef PFN_vkVoidFunction (*PFN_vkGetInstanceProcAddr)(VkInstance instance, const char* name);
enum VkImageLayout : unsigned {};
// NOLINTEND(modernize-use-using)
#endif
