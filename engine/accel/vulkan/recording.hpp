// Recording: a command buffer, and the memory of its launches' arguments.
#pragma once

#include <kinetograph/engine/accel/vulkan/clock.hpp>
#include <kinetograph/engine/vulkan/buffer.hpp>

namespace kinetograph::accel::vulkan {

/// A kernel as Context::launch() gets it: what gpu::FunctionHandle points to.
struct Pipeline {
    VkPipeline handle = VK_NULL_HANDLE;
    std::uint32_t threads = 0;  ///< of a workgroup
};

/// Bytes of a buffer.
struct BufferRange {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceSize offset = 0;
};

/// Commands in order, each after all that came before it on its queue. It has room for kMostCommands, so that what is
/// submitted at a time ends soon enough for the others who use the queue, and for kArgumentBytes of arguments.
class Recording {
  public:
    static constexpr std::uint32_t kMostCommands = 64;
    static constexpr VkDeviceSize kArgumentBytes = 64 << 10, kMostArguments = 4 << 10;
    /// Where its commands run.
    static constexpr VkPipelineStageFlags2 kStages =
        VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT;
    enum class Use : std::uint8_t {
        Once,     ///< submitted, and after that begun anew
        Replays,  ///< executed by recordings of the other kind, by several at a time
    };
    /// Errors: what the driver says.
    static Result<std::unique_ptr<Recording>> create(const vk::Device& device, VkPipelineLayout layout, Use use);
    ~Recording();
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

    /// What it recorded before has been executed.
    Result<void> begin();
    Result<void> end();
    VkCommandBuffer handle() const { return commands_; }
    std::uint32_t commands() const { return count_; }
    bool has_room() const { return count_ < kMostCommands && used_ + kMostArguments <= kArgumentBytes; }

    void launch(const Pipeline& pipeline, const Extent3& grid, std::span<const std::byte> arguments);
    void fill(BufferRange to, std::byte value, VkDeviceSize bytes);
    void copy(BufferRange to, BufferRange from, VkDeviceSize bytes);
    void write(std::shared_ptr<Stamp> stamp);
    void execute(const Recording& part);

  private:
    Recording(const vk::Device& device, VkPipelineLayout layout, Use use)
        : device_(device), layout_(layout), use_(use) {}
    void follow();
    VkDeviceSize keep(std::span<const std::byte> bytes);

    const vk::Device& device_;
    VkPipelineLayout layout_;
    Use use_;
    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkCommandBuffer commands_ = VK_NULL_HANDLE;
    std::unique_ptr<vk::Buffer> arguments_;
    VkDeviceAddress address_ = 0;  ///< of the arguments
    VkDeviceSize used_ = 0;        ///< bytes of them
    std::uint32_t count_ = 0;      ///< commands
    std::vector<std::shared_ptr<Stamp>> stamps_;
};

}  // namespace kinetograph::accel::vulkan
