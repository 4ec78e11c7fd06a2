// VulkanMemory: arenas of a frame graph in Vulkan memory.
#pragma once

#include <kinetograph/engine/graph/executor.hpp>
#include <kinetograph/engine/vulkan/buffer.hpp>
#include <kinetograph/engine/vulkan/image.hpp>

namespace kinetograph::vulkan {

class Device;

/// Serves MemoryDomain::Graphics, and MemoryDomain::Shared with exportable memory. Physical::object is a Buffer* (one
/// spans the whole arena) or an Image*. The frame graph's image_footprint must be the device's.
class VulkanMemory final : public graph::MemoryBackend {
  public:
    explicit VulkanMemory(const Device& device) : device_(device) {}
    /// Errors: OutOfMemory, Unsupported; InvalidArgument for an image whose footprint is too small for the device.
    Result<std::unique_ptr<graph::PlanMemory>> realize(const graph::Plan& plan, graph::MemoryDomain domain) override;

  private:
    const Device& device_;
};

/// How a frame graph refers to a buffer or an image outside it, for imports.
graph::Physical physical_of(const Buffer& buffer);
graph::Physical physical_of(const Image& image);

}  // namespace kinetograph::vulkan
