// StreamTest: a bridge between an accelerator that decodes and a Vulkan device that reads frames back.
#pragma once

#include "small_decoder.hpp"

#include <kinetograph/engine/interop/frame_ring.hpp>
#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/tests/engine/interop/interop_fixture.hpp>

#include <array>
#include <cstring>

namespace kinetograph::stream::testing {

using interop::FrameRecord;
using interop::FrameRingDesc;
using interop::testing::Pairing;

struct Case {
    FrameRingDesc::Storage storage = FrameRingDesc::Storage::Image;
    Pairing pairing;
};
inline std::string name_of(const Case& chosen) {
    constexpr std::array kNames{"Images", "Buffers", "HostMemory"};
    return chosen.pairing.name + kNames.at(static_cast<std::size_t>(chosen.storage));
}
inline std::ostream& operator<<(std::ostream& out, const Case& chosen) { return out << name_of(chosen); }

inline std::vector<Case> all_cases() {
    std::vector<Case> cases;
    for (const auto storage :
         {FrameRingDesc::Storage::Image, FrameRingDesc::Storage::Buffer, FrameRingDesc::Storage::Host})
        for (const Pairing& pairing :
             {interop::testing::kSharedTimelines, interop::testing::kSharedRelayed, interop::testing::kStagedPinned})
            cases.push_back({storage, pairing});
    return cases;
}

/// A shorter list: every route that frames can take, once.
inline std::vector<Case> cases_of_every_way() {
    return {{FrameRingDesc::Storage::Image, interop::testing::kSharedTimelines},
            {FrameRingDesc::Storage::Image, interop::testing::kStagedPinned},
            {FrameRingDesc::Storage::Buffer, interop::testing::kSharedRelayed},
            {FrameRingDesc::Storage::Host, interop::testing::kStagedPinned}};
}

class StreamTest : public interop::testing::InteropTest {
  protected:
    void open_case(const Case& chosen) {
        kind_ = "cpu";
        validation_ = vulkan::Validation::WithoutSynchronization;  // relays signal while tests wait
        ASSERT_NO_FATAL_FAILURE(open(chosen.pairing));
    }
    /// The fixture's bridge, not owned by the result: it outlives its users.
    std::shared_ptr<interop::Bridge> bridge() { return {std::shared_ptr<void>(), bridge_.get()}; }
    void open_headless() {
        accelerator_ = accel::cpu::create_device();
        ASSERT_NO_FATAL_FAILURE(make_bridge());
    }
    /// Waits for the frame; returns its bytes.
    std::vector<std::uint8_t> read(const FrameRecord& record) {
        EXPECT_TRUE(bridge_->wait(record.ready));
        std::vector<std::uint8_t> bytes(record.row_bytes * record.height);
        if (!record.host.empty())
            std::memcpy(bytes.data(), record.host.data(), bytes.size());
        else if (display_ == nullptr)
            std::memcpy(bytes.data(), record.buffer->host_address(), bytes.size());
        else
            read_through_vulkan(record, bytes);
        return bytes;
    }

  private:
    void read_through_vulkan(const FrameRecord& record, std::vector<std::uint8_t>& bytes) {
        if (!readback_)
            readback_ = vulkan::Buffer::create(*display_, "read", bytes.size(), {.memory = vulkan::MemoryUse::Readback})
                            .value();
        ASSERT_TRUE(display_->run_once("reading a frame", [&](VkCommandBuffer commands) {
            if (record.image != nullptr) return copy_image(record, commands);
            const VkBufferCopy region{0, 0, bytes.size()};
            display_->table().vkCmdCopyBuffer(commands, record.buffer->buffer()->handle(), readback_->handle(), 1,
                                              &region);
        }));
        std::memcpy(bytes.data(), readback_->mapped(), bytes.size());
    }
    void copy_image(const FrameRecord& record, VkCommandBuffer commands) {
        VkImageMemoryBarrier2 barrier{};
        barrier.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2;
        barrier.srcStageMask = barrier.dstStageMask = VK_PIPELINE_STAGE_2_COPY_BIT;
        barrier.dstAccessMask = VK_ACCESS_2_TRANSFER_READ_BIT;
        barrier.oldLayout = static_cast<VkImageLayout>(record.layout);
        barrier.newLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
        barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
        barrier.image = record.image->handle();
        barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
        VkDependencyInfo dependency{};
        dependency.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
        dependency.imageMemoryBarrierCount = 1;
        dependency.pImageMemoryBarriers = &barrier;
        display_->table().vkCmdPipelineBarrier2(commands, &dependency);
        VkBufferImageCopy region{};
        region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
        region.imageExtent = {record.width, record.height, 1};
        display_->table().vkCmdCopyImageToBuffer(commands, record.image->handle(), VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                                                 readback_->handle(), 1, &region);
    }

  protected:
    void release() override { readback_.reset(); }
    std::unique_ptr<vulkan::Buffer> readback_;
};

}  // namespace kinetograph::stream::testing
