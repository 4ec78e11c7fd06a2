#include <kinetograph/engine/accel/vulkan/recording.hpp>

#include <kinetograph/engine/vulkan/api.hpp>

#include <algorithm>
#include <array>

namespace kinetograph::accel::vulkan {

Result<std::unique_ptr<Recording>> Recording::create(const vk::Device& device, VkPipelineLayout layout, Use use) {
    std::unique_ptr<Recording> recording(new Recording(device, layout, use));
    VkCommandPoolCreateInfo pool{};
    pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    if (use == Use::Once) pool.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
    pool.queueFamilyIndex = device.queue(graph::Lane::AsyncCompute).family;
    if (const VkResult result = device.table().vkCreateCommandPool(device.handle(), &pool, nullptr, &recording->pool_);
        result != VK_SUCCESS)
        return device.error(result, "creating a command pool");
    VkCommandBufferAllocateInfo buffer{};
    buffer.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    buffer.commandPool = recording->pool_;
    buffer.level = use == Use::Once ? VK_COMMAND_BUFFER_LEVEL_PRIMARY : VK_COMMAND_BUFFER_LEVEL_SECONDARY;
    buffer.commandBufferCount = 1;
    if (const VkResult result =
            device.table().vkAllocateCommandBuffers(device.handle(), &buffer, &recording->commands_);
        result != VK_SUCCESS)
        return device.error(result, "allocating a command buffer");
    KG_TRY(recording->arguments_, vk::Buffer::create(device, "arguments of launches", kArgumentBytes,
                                                     {.memory = vk::MemoryUse::Arguments, .addressed = true}));
    recording->address_ = recording->arguments_->address();
    KG_CHECK(recording->begin());
    return recording;
}

Recording::~Recording() {
    if (pool_ != VK_NULL_HANDLE) device_.table().vkDestroyCommandPool(device_.handle(), pool_, nullptr);
}

Result<void> Recording::begin() {
    count_ = 0;
    used_ = 0;
    stamps_.clear();
    VkCommandBufferInheritanceInfo inheritance{};
    inheritance.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO;
    VkCommandBufferBeginInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    info.flags =
        use_ == Use::Once ? VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT : VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
    info.pInheritanceInfo = &inheritance;
    VkResult result = device_.table().vkResetCommandPool(device_.handle(), pool_, 0);
    if (result == VK_SUCCESS) result = device_.table().vkBeginCommandBuffer(commands_, &info);
    if (result != VK_SUCCESS) return device_.error(result, "beginning a command buffer");
    return {};
}

/// The host may read what the commands have written once it knows that they have been executed.
Result<void> Recording::end() {
    if (use_ == Use::Once) {
        VkMemoryBarrier2 barrier{};
        barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2;
        barrier.srcStageMask = kStages;
        barrier.srcAccessMask = VK_ACCESS_2_SHADER_WRITE_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT;
        barrier.dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT;
        barrier.dstAccessMask = VK_ACCESS_2_HOST_READ_BIT;
        VkDependencyInfo info{};
        info.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
        info.memoryBarrierCount = 1;
        info.pMemoryBarriers = &barrier;
        device_.table().vkCmdPipelineBarrier2(commands_, &info);
    }
    if (const VkResult result = device_.table().vkEndCommandBuffer(commands_); result != VK_SUCCESS)
        return device_.error(result, "ending a command buffer");
    return {};
}

/// The next command comes after all earlier ones on the queue.
void Recording::follow() {
    VkMemoryBarrier2 barrier{};
    barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2;
    barrier.srcStageMask = barrier.dstStageMask = kStages;
    barrier.srcAccessMask = VK_ACCESS_2_SHADER_WRITE_BIT | VK_ACCESS_2_TRANSFER_WRITE_BIT;
    barrier.dstAccessMask = VK_ACCESS_2_SHADER_READ_BIT | VK_ACCESS_2_SHADER_WRITE_BIT | VK_ACCESS_2_TRANSFER_READ_BIT |
                            VK_ACCESS_2_TRANSFER_WRITE_BIT;
    VkDependencyInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
    info.memoryBarrierCount = 1;
    info.pMemoryBarriers = &barrier;
    device_.table().vkCmdPipelineBarrier2(commands_, &info);
    ++count_;
}

/// Returns the offset at which the arguments' memory now has the bytes.
VkDeviceSize Recording::keep(std::span<const std::byte> bytes) {
    constexpr VkDeviceSize kAlignment = 16;
    const VkDeviceSize offset = used_;
    std::ranges::copy(bytes, arguments_->mapped() + offset);
    used_ = (offset + bytes.size() + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
}

void Recording::launch(const Pipeline& pipeline, const Extent3& grid, std::span<const std::byte> arguments) {
    follow();
    const VkDeviceAddress address = address_ + keep(arguments);
    const auto& table = device_.table();
    table.vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
    table.vkCmdPushConstants(commands_, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(address), &address);
    table.vkCmdDispatch(commands_, grid.x, grid.y, grid.z);
}

/// Vulkan fills whole words only; the bytes before and after them are copied.
void Recording::fill(BufferRange to, std::byte value, VkDeviceSize bytes) {
    constexpr VkDeviceSize kWord = sizeof(std::uint32_t);
    follow();
    const VkDeviceSize head = std::min(bytes, (kWord - to.offset % kWord) % kWord);
    const VkDeviceSize words = (bytes - head) / kWord * kWord, tail = bytes - head - words;
    if (words > 0)
        device_.table().vkCmdFillBuffer(commands_, to.buffer, to.offset + head, words,
                                        std::to_integer<std::uint32_t>(value) * 0x01010101U);
    if (head + tail == 0) return;
    std::array<std::byte, kWord> values{};
    values.fill(value);
    const VkDeviceSize from = keep(values);
    std::array<VkBufferCopy, 2> regions{};
    std::uint32_t count = 0;
    if (head > 0) regions[count++] = {from, to.offset, head};
    if (tail > 0) regions[count++] = {from, to.offset + head + words, tail};
    device_.table().vkCmdCopyBuffer(commands_, arguments_->handle(), to.buffer, count, regions.data());
}

void Recording::copy(BufferRange to, BufferRange from, VkDeviceSize bytes) {
    follow();
    const VkBufferCopy region{from.offset, to.offset, bytes};
    device_.table().vkCmdCopyBuffer(commands_, from.buffer, to.buffer, 1, &region);
}

void Recording::write(std::shared_ptr<Stamp> stamp) {
    ++count_;
    device_.table().vkCmdResetQueryPool(commands_, stamp->pool(), 0, 1);
    device_.table().vkCmdWriteTimestamp2(commands_, VK_PIPELINE_STAGE_2_BOTTOM_OF_PIPE_BIT, stamp->pool(), 0);
    stamps_.push_back(std::move(stamp));
}

void Recording::execute(const Recording& part) {
    count_ += part.count_;
    const VkCommandBuffer commands = part.handle();
    device_.table().vkCmdExecuteCommands(commands_, 1, &commands);
}

}  // namespace kinetograph::accel::vulkan
