// DescriptorHeap: descriptor sets of one command buffer in flight, all forgotten together.
#pragma once

#include <kinetograph/engine/base/result.hpp>

#include <vulkan/vulkan_core.h>

#include <vector>

namespace kinetograph::vulkan {

class Device;

/// Grows by pools and keeps them: in steady state nothing is allocated.
class DescriptorHeap {
  public:
    explicit DescriptorHeap(const Device& device) : device_(device) {}
    ~DescriptorHeap();
    DescriptorHeap(const DescriptorHeap&) = delete;
    DescriptorHeap& operator=(const DescriptorHeap&) = delete;

    Result<VkDescriptorSet> allocate(VkDescriptorSetLayout layout);
    /// Called only when the device has ended using every set.
    void reset();

  private:
    Result<void> grow();
    const Device& device_;
    std::vector<VkDescriptorPool> pools_;
    std::size_t current_ = 0;
};

}  // namespace kinetograph::vulkan
