#include "vulkan_fixture.hpp"

#include <kinetograph/engine/vulkan/api.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace kinetograph::vulkan {
namespace {

class Memory : public testing::VulkanTest {};

TEST_F(Memory, SmallBuffersShareOneAllocationWithoutOverlap) {
    std::vector<std::unique_ptr<Buffer>> buffers;
    for (int i = 0; i < 200; ++i) {
        auto buffer =
            Buffer::create(*device_, "small", 1000 + 977 * static_cast<VkDeviceSize>(i), {.memory = MemoryUse::Upload});
        ASSERT_TRUE(buffer) << buffer.error().message;
        std::memset((*buffer)->mapped(), i, (*buffer)->bytes());
        buffers.push_back(std::move(*buffer));
    }
    for (int i = 0; i < 200; ++i)
        for (VkDeviceSize at = 0; at < buffers[static_cast<std::size_t>(i)]->bytes(); ++at)
            ASSERT_EQ(std::to_integer<int>(buffers[static_cast<std::size_t>(i)]->mapped()[at]), i);
    EXPECT_LE(testing::faults().allocations.load(), 12);
}

TEST_F(Memory, FreedPiecesAreUsedAgain) {
    for (int i = 0; i < 500; ++i) {
        auto one = Buffer::create(*device_, "one", 3 << 20, {.memory = MemoryUse::Upload});
        auto two = Buffer::create(*device_, "two", 5 << 20, {.memory = MemoryUse::Upload});
        ASSERT_TRUE(one && two);
    }
    EXPECT_LE(device_->memory().bytes_held(), 64ULL << 20U);
}

TEST_F(Memory, ItsHeapsAreThoseOfTheDriverWithTheirBudgets) {
    const auto heaps = device_->memory().heaps();
    ASSERT_FALSE(heaps.empty());
    EXPECT_TRUE(std::ranges::any_of(heaps, &MemoryHeap::device_local));
    for (const MemoryHeap& heap : heaps) {
        EXPECT_GT(heap.bytes, 0U);
        EXPECT_EQ(heap.budget > 0, device_->report().extensions.memory_budget);
    }
}

TEST_F(Memory, OutOfMemoryNamesTheBufferAndTheSizes) {
    testing::faults().out_of_memory = true;
    const auto buffer = Buffer::create(*device_, "activations", 300ULL << 20U);
    testing::faults().out_of_memory = false;
    ASSERT_FALSE(buffer);
    EXPECT_EQ(buffer.error().code, ErrorCode::OutOfMemory);
    EXPECT_NE(buffer.error().message.find("\"activations\" needs 300.0 MiB, but heap "), std::string::npos)
        << buffer.error().message;
}

TEST_F(Memory, ThatIsFreeIsWhatTheDriverSaysAndNotTheHeapWithoutOurs) {
    const std::uint64_t heap = device_->memory().bytes_free(MemoryUse::DeviceLocal);  // the whole one on lavapipe
    EXPECT_GT(heap, 300ULL << 20U);
    testing::faults().tells_budget = true;
    const auto telling = Device::create(*instance_).value();
    const MemoryPool& pool = telling->memory();
    testing::faults().heap_bytes_left = 12345;
    EXPECT_EQ(pool.bytes_free(MemoryUse::DeviceLocal), 12345U);
    EXPECT_EQ(pool.bytes_free(MemoryUse::Upload), 12345U);
    testing::faults().out_of_memory = true;
    const auto buffer = Buffer::create(*telling, "activations", 300ULL << 20U);
    testing::faults().out_of_memory = false;
    ASSERT_FALSE(buffer);
    EXPECT_NE(buffer.error().message.find(", 12.1 KiB are free"), std::string::npos) << buffer.error().message;
}

TEST_F(Memory, AnImageBeyondTheDevicesLimitsIsRefusedWithTheLimit) {
    const auto image = Image::create(*device_, "poster", {.width = 1U << 20U, .height = 2});
    ASSERT_FALSE(image);
    EXPECT_EQ(image.error().code, ErrorCode::InvalidArgument);
    EXPECT_NE(image.error().message.find("\"poster\" is 1048576 x 2"), std::string::npos) << image.error().message;
}

TEST_F(Memory, ExportedMemoryShowsItsContentsToWhoeverImportsIt) {
    if (!device_->report().extensions.external_memory_fd) GTEST_SKIP() << "no VK_KHR_external_memory_fd here";
    constexpr VkDeviceSize kBytes = 1 << 20;
    auto shared = Buffer::create(*device_, "shared", kBytes, {.exportable = true});
    auto result = Buffer::create(*device_, "result", kBytes, {.memory = MemoryUse::Readback});
    ASSERT_TRUE(shared && result);
    const auto descriptor = (*shared)->export_fd();
    ASSERT_TRUE(descriptor) << descriptor.error().message;

    const VolkDeviceTable& table = device_->table();
    VkExternalMemoryBufferCreateInfo external{};
    external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
    external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.pNext = &external;
    info.size = kBytes;
    info.usage = kGraphBufferUsage;
    VkBuffer imported = VK_NULL_HANDLE;
    ASSERT_EQ(table.vkCreateBuffer(device_->handle(), &info, nullptr, &imported), VK_SUCCESS);
    VkMemoryRequirements requirements{};
    table.vkGetBufferMemoryRequirements(device_->handle(), imported, &requirements);
    VkImportMemoryFdInfoKHR import{};
    import.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR;
    import.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    import.fd = *descriptor;
    VkMemoryAllocateInfo allocate{};
    allocate.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocate.pNext = &import;
    allocate.allocationSize = (*shared)->allocation().bytes();
    while ((requirements.memoryTypeBits & (1U << allocate.memoryTypeIndex)) == 0) ++allocate.memoryTypeIndex;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    ASSERT_EQ(table.vkAllocateMemory(device_->handle(), &allocate, nullptr, &memory), VK_SUCCESS);
    ASSERT_EQ(table.vkBindBufferMemory(device_->handle(), imported, memory, 0), VK_SUCCESS);

    const VkBufferCopy all{0, 0, kBytes};
    ASSERT_TRUE(device_->run_once("filling", [&](VkCommandBuffer commands) {
        table.vkCmdFillBuffer(commands, (*shared)->handle(), 0, VK_WHOLE_SIZE, 0xabcdef01U);
    }));
    ASSERT_TRUE(device_->run_once("copying", [&](VkCommandBuffer commands) {
        table.vkCmdCopyBuffer(commands, imported, (*result)->handle(), 1, &all);
        VkMemoryBarrier2 barrier{};
        barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2;
        barrier.srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT;
        barrier.srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT;
        barrier.dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT;
        barrier.dstAccessMask = VK_ACCESS_2_HOST_READ_BIT;
        VkDependencyInfo dependency{};
        dependency.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
        dependency.memoryBarrierCount = 1;
        dependency.pMemoryBarriers = &barrier;
        table.vkCmdPipelineBarrier2(commands, &dependency);
    }));
    std::uint32_t last = 0;
    std::memcpy(&last, (*result)->mapped() + kBytes - 4, 4);
    EXPECT_EQ(last, 0xabcdef01U);
    table.vkDestroyBuffer(device_->handle(), imported, nullptr);
    table.vkFreeMemory(device_->handle(), memory, nullptr);
}

TEST_F(Memory, AnImageCanBeExportedToo) {
    if (!device_->report().extensions.external_memory_fd) GTEST_SKIP() << "no VK_KHR_external_memory_fd here";
    auto image = Image::create(*device_, "frame", {.width = 1024, .height = 512}, {.exportable = true});
    ASSERT_TRUE(image) << image.error().message;
    const auto descriptor = (*image)->export_fd();
    ASSERT_TRUE(descriptor) << descriptor.error().message;
    EXPECT_GE(*descriptor, 0);
    ::close(*descriptor);
}

TEST_F(Memory, OnlyExportableMemoryHasADescriptor) {
    auto buffer = Buffer::create(*device_, "private", 4096);
    ASSERT_TRUE(buffer);
    const auto descriptor = (*buffer)->export_fd();
    ASSERT_FALSE(descriptor);
    EXPECT_EQ(descriptor.error().code, ErrorCode::Unsupported);
    EXPECT_NE(descriptor.error().message.find("\"private\""), std::string::npos);
}

}  // namespace
}  // namespace kinetograph::vulkan
