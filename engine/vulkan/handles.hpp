// Vulkan's names in the headers of frames and sessions. KINETOGRAPH_WITHOUT_VULKAN: these alone are there. The package
// defines it where it finds no headers of Vulkan; an application has frames in its memory or its accelerator's then.
#pragma once

#ifndef KINETOGRAPH_WITHOUT_VULKAN
#include <vulkan/vulkan_core.h>
#else
// As vulkan_core.h declares them for 64-bit machines: enough to leave them empty.
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
