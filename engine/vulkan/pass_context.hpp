// PassContext: a pass's view of its Vulkan lane while it records.
#pragma once

#include <kinetograph/engine/graph/executor.hpp>
#include <kinetograph/engine/vulkan/buffer.hpp>
#include <kinetograph/engine/vulkan/descriptor_heap.hpp>
#include <kinetograph/engine/vulkan/image.hpp>
#include <kinetograph/engine/vulkan/pipeline.hpp>
#include <kinetograph/engine/vulkan/upload_heap.hpp>

#include <initializer_list>
#include <optional>

struct VolkDeviceTable;

namespace kinetograph::vulkan {

/// A range of a VkBuffer.
struct BufferRange {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceSize offset = 0;
    VkDeviceSize bytes = 0;
};

/// The resource for one of a pipeline's bindings.
struct Descriptor {
    BufferRange buffer;
    VkImageView view = VK_NULL_HANDLE;
    VkSampler sampler = VK_NULL_HANDLE;
    static Descriptor storage(const BufferRange& range) { return {.buffer = range}; }
    static Descriptor storage(const Image& image) { return {.buffer = {}, .view = image.view()}; }
    static Descriptor sampled(const Image& image, VkSampler sampler) { return {{}, image.view(), sampler}; }
};

/// Barriers and image layouts are in place when the pass begins to record: an image is in the layout of the pass's
/// declared access. A pass ends every rendering that it begins.
class PassContext final : public graph::PassContext {
  public:
    static constexpr bool serves(graph::Lane lane) { return lane.is_vulkan(); }
    /// One command buffer's resources, owned by the lane.
    struct Recording {
        const Device& device;
        VkCommandBuffer commands;
        DescriptorHeap& descriptors;
        UploadHeap& uploads;
        std::optional<Error>& error;  ///< the first one stops the submission
    };
    PassContext(const graph::PassRecord& pass, std::uint64_t execution, Recording recording)
        : graph::PassContext(pass.planned->name, execution, pass.entries), recording_(recording) {}

    const Device& device() const { return recording_.device; }
    const VolkDeviceTable& table() const;
    VkCommandBuffer commands() const { return recording_.commands; }

    BufferRange range(graph::Buffer buffer) const;
    Image& image(graph::Image image) const;

    /// Memory to write now; the device reads it when it runs this pass. None if memory ran out: the submission then
    /// fails with that error, and the pass may return at once.
    std::optional<Upload> upload(VkDeviceSize bytes, VkDeviceSize alignment = 16);

    /// Binds `pipeline` and the resources of its bindings, in order.
    void bind(const Pipeline& pipeline, std::initializer_list<Descriptor> descriptors);
    void push_constants(const Pipeline& pipeline, const void* data, std::uint32_t bytes);

    enum class Contents : std::uint8_t { Keep, Clear };
    /// Begins rendering to all of `target`, viewport and scissor set to it.
    void begin_rendering(const Image& target, Contents contents, VkClearColorValue clear = {});
    void end_rendering();

    /// Stops the submission that this pass belongs to.
    void fail(Error error);

  private:
    Recording recording_;
};

}  // namespace kinetograph::vulkan
