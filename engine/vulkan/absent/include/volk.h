// Like vulkan/vulkan_core.h beside it: the device functions that are called outside engine/vulkan.
#pragma once

#include <vulkan/vulkan_core.h>

struct VolkDeviceTable {
    void (*vkCmdCopyBufferToImage)(VkCommandBuffer commands, VkBuffer from, VkImage to, VkImageLayout layout,
                                   std::uint32_t regions, const VkBufferImageCopy* region);
};
