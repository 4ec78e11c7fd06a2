// Vulkan's names in the headers of frames and sessions, as vulkan_core.h declares them for 64-bit machines: these
// headers are used with Vulkan's and without.
#pragma once

// NOLINTBEGIN(modernize-use-using)
typedef struct VkInstance_T* VkInstance;
typedef struct VkPhysicalDevice_T* VkPhysicalDevice;
typedef struct VkDevice_T* VkDevice;
typedef struct VkQueue_T* VkQueue;
typedef struct VkSemaphore_T* VkSemaphore;
typedef struct VkBuffer_T* VkBuffer;
typedef struct VkImage_T* VkImage;
typedef struct VkImageView_T* VkImageView;
typedef void (*PFN_vkVoidFunction)();
typedef PFN_vkVoidFunction (*PFN_vkGetInstanceProcAddr)(VkInstance instance, const char* name);
// NOLINTEND(modernize-use-using)
