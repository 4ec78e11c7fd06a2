#include <kinetograph/engine/vulkan/access.hpp>

namespace kinetograph::vulkan {
namespace {

AccessScope unrestricted_scope(graph::Access access) {
    using graph::Access;
    switch (access) {
        case Access::KernelRead:
            return {VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, VK_ACCESS_2_MEMORY_READ_BIT, VK_IMAGE_LAYOUT_GENERAL};
        case Access::KernelWrite:
            return {VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT,
                    VK_IMAGE_LAYOUT_GENERAL};
        case Access::ComputeRead:
            return {VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                    VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_UNIFORM_READ_BIT, VK_IMAGE_LAYOUT_GENERAL};
        case Access::ComputeWrite:
            return {VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                    VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT,
                    VK_IMAGE_LAYOUT_GENERAL};
        case Access::SampledRead:
            return {VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT,
                    VK_ACCESS_2_SHADER_READ_BIT, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
        case Access::ColorAttachment:
            return {VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
                    VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT | VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT,
                    VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};
        case Access::TransferRead:
            return {VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_READ_BIT,
                    VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL};
        case Access::TransferWrite:
            return {VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT,
                    VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL};
        case Access::HostRead:
            return {VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT, VK_IMAGE_LAYOUT_GENERAL};
        case Access::HostWrite:
            return {VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT | VK_ACCESS_2_HOST_WRITE_BIT,
                    VK_IMAGE_LAYOUT_GENERAL};
        case Access::Present:  // the presentation engine waits for a semaphore, which makes the image visible
            return {VK_PIPELINE_STAGE_2_NONE, VK_ACCESS_2_NONE, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR};
    }
    return {};
}

}  // namespace

VkPipelineStageFlags2 every_stage(VkQueueFlags queue) {
    // Graphics and compute queues can copy, whether or not they report it.
    VkPipelineStageFlags2 stages = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT;
    if ((queue & VK_QUEUE_COMPUTE_BIT) != 0)
        stages |= VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT | VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
    if ((queue & VK_QUEUE_GRAPHICS_BIT) != 0)
        stages |= VK_PIPELINE_STAGE_2_DRAW_INDIRECT_BIT | VK_PIPELINE_STAGE_2_VERTEX_INPUT_BIT |
                  VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT | VK_PIPELINE_STAGE_2_EARLY_FRAGMENT_TESTS_BIT |
                  VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT | VK_PIPELINE_STAGE_2_LATE_FRAGMENT_TESTS_BIT |
                  VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT;
    return stages;
}

AccessScope scope_of(graph::Access access, VkQueueFlags queue) {
    AccessScope scope = unrestricted_scope(access);
    if (access == graph::Access::KernelRead || access == graph::Access::KernelWrite) scope.stages = every_stage(queue);
    if (scope.stages == VK_PIPELINE_STAGE_2_NONE) return scope;
    scope.stages &= every_stage(queue) | VK_PIPELINE_STAGE_2_HOST_BIT;
    if (scope.stages == VK_PIPELINE_STAGE_2_NONE) {
        scope.stages = every_stage(queue);
        scope.access = VK_ACCESS_2_NONE;
    }
    return scope;
}

VkAccessFlags2 writes_of(VkAccessFlags2 access) {
    return access & (VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT | VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT |
                     VK_ACCESS_2_TRANSFER_WRITE_BIT | VK_ACCESS_2_HOST_WRITE_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT);
}

VkPipelineStageFlags2 timing_stage(const graph::Access* accesses, std::size_t count, VkQueueFlags queue) {
    VkPipelineStageFlags2 writes = 0;
    for (std::size_t i = 0; i < count; ++i)
        if (graph::is_write(accesses[i])) writes |= scope_of(accesses[i], queue).stages;
    const bool is_one_stage = writes != 0 && (writes & (writes - 1)) == 0;
    return is_one_stage ? writes : VK_PIPELINE_STAGE_2_BOTTOM_OF_PIPE_BIT;
}

}  // namespace kinetograph::vulkan
