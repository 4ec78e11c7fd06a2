// DescriptorHeap: the descriptor sets of one command buffer in flight, released together.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <vulkan/vulkan_core.h>

#include <vector>

namespace kinetograph::vulkan {

class Device;

/// Grows by pools and keeps them: nothing is allocated in the steady state.
class DescriptorHeap {
  public:
    explicit DescriptorHeap(const Device& device) : device_(device) {}
    ~DescriptorHeap();
    DescriptorHeap(const DescriptorHeap&) = delete;
    DescriptorHeap& operator=(const DescriptorHeap&) = delete;

    Result<VkDescriptorSet> allocate(VkDescriptorSetLayout layout);
    /// Call only when the device has finished using every set.
    void reset();

  private:
    Result<void> grow();
    const Device& device_;
    std::vector<VkDescriptorPool> pools_;
    std::size_t current_ = 0;
};

}  // namespace kinetograph::vulkan
