// block: a queue that makes no progress until a test opens a gate.
#pragma once

#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/timeline.hpp>

#include <gtest/gtest.h>

#include <mutex>

namespace kinetograph::vulkan::testing {

/// Later submissions to the lane's queue do not run before `gate` reaches 1.
inline void block(const Device& device, graph::Lane lane, const TimelineSemaphore& gate) {
    VkSemaphoreSubmitInfo wait{};
    wait.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO;
    wait.semaphore = gate.handle();
    wait.value = 1;
    wait.stageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT;
    VkSubmitInfo2 info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2;
    info.waitSemaphoreInfoCount = 1;
    info.pWaitSemaphoreInfos = &wait;
    const Queue& queue = device.queue(lane);
    const std::lock_guard lock(*queue.mutex);
    ASSERT_EQ(device.table().vkQueueSubmit2(queue.handle, 1, &info, VK_NULL_HANDLE), VK_SUCCESS);
}

}  // namespace kinetograph::vulkan::testing
