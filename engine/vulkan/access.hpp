// What a graph access means to Vulkan: stages, memory access and image layout.
#pragma once

#include <kinetograph/engine/graph/handles.hpp>

#include <vulkan/vulkan_core.h>

namespace kinetograph::vulkan {

struct AccessScope {
    VkPipelineStageFlags2 stages = VK_PIPELINE_STAGE_2_NONE;
    VkAccessFlags2 access = VK_ACCESS_2_NONE;
    VkImageLayout layout = VK_IMAGE_LAYOUT_GENERAL;
};

/// Every stage that core commands of such a queue run in, one by one: validation takes VK_PIPELINE_STAGE_2_ALL_COMMANDS
/// for laziness.
VkPipelineStageFlags2 every_stage(VkQueueFlags queue);

/// The scope of `access` in a command buffer of a queue family with these capabilities. Stages that the family does not
/// have (an access made on another lane, which a semaphore has ordered already) become every stage with no access.
AccessScope scope_of(graph::Access access, VkQueueFlags queue);

/// Bits of `access` that write: only those need to be made available by a barrier.
VkAccessFlags2 writes_of(VkAccessFlags2 access);

/// The stage whose completion times a pass with these accesses: the one that writes, or the pipe's end if several do. A
/// stamp at the top of the pipe would charge the pass with its predecessors' work, a barrier before the end stamp would
/// forbid overlap.
VkPipelineStageFlags2 timing_stage(const graph::Access* accesses, std::size_t count, VkQueueFlags queue);

}  // namespace kinetograph::vulkan
