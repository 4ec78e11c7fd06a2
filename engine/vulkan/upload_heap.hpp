// UploadHeap: host-written bytes of one command buffer in flight (vertices, staging), released together.
#pragma once

#include <kinetograph/engine/vulkan/buffer.hpp>

#include <vector>

namespace kinetograph::vulkan {

/// Bytes that the host writes now and the device reads when it runs the command buffer.
struct Upload {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceSize offset = 0;
    std::byte* data = nullptr;
};

/// Grows to the largest frame and keeps its memory: nothing is allocated in the steady state.
class UploadHeap {
  public:
    explicit UploadHeap(const Device& device) : device_(device) {}
    /// `alignment` a power of two. Errors: OutOfMemory.
    Result<Upload> allocate(VkDeviceSize bytes, VkDeviceSize alignment);
    /// Call only when the device has finished reading. If several buffers were needed, one large buffer replaces them
    /// at the next allocation.
    void reset();

  private:
    const Device& device_;
    std::vector<std::unique_ptr<Buffer>> buffers_;  // the last one has room
    VkDeviceSize used_ = 0;                         // bytes of the last one
    VkDeviceSize wanted_ = 0;                       // bytes in all since reset()
};

}  // namespace kinetograph::vulkan
