// What a graph access means in Vulkan: stages, memory access and image layout.
#pragma once

#include <kinetograph/engine/graph/handles.hpp>

#include <vulkan/vulkan_core.h>

namespace kinetograph::vulkan {

struct AccessScope {
    VkPipelineStageFlags2 stages = VK_PIPELINE_STAGE_2_NONE;
    VkAccessFlags2 access = VK_ACCESS_2_NONE;
    VkImageLayout layout = VK_IMAGE_LAYOUT_GENERAL;
};

/// Every stage in which core commands of such a queue run, listed one by one, because validation warns of
/// VK_PIPELINE_STAGE_2_ALL_COMMANDS.
VkPipelineStageFlags2 every_stage(VkQueueFlags queue);

/// The scope of `access` in a command buffer of a queue family with these capabilities. Stages that the family lacks
/// (an access on another lane, already ordered by a semaphore) become every stage with no access.
AccessScope scope_of(graph::Access access, VkQueueFlags queue);

/// The bits of `access` that write: only those need to be made available by a barrier.
VkAccessFlags2 writes_of(VkAccessFlags2 access);

/// The stage whose completion times a pass with these accesses: the stage that writes, or the bottom of the pipe if
/// several do. A stamp at the top of the pipe would charge the pass for its predecessors' work; a barrier before the
/// end stamp would prevent overlap.
VkPipelineStageFlags2 timing_stage(const graph::Access* accesses, std::size_t count, VkQueueFlags queue);

}  // namespace kinetograph::vulkan
