#include "interop_fixture.hpp"

#include <kinetograph/engine/interop/frame_ring.hpp>
#include <kinetograph/engine/vulkan/access.hpp>
#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/lane.hpp>
#include <kinetograph/engine/vulkan/timeline.hpp>

#include <algorithm>
#include <cstring>
#include <thread>

namespace kinetograph::interop {
namespace {

using graph::Lane;
using testing::Pairing;

constexpr std::uint32_t kWidth = 8, kHeight = 4;
constexpr FrameRingDesc kImages{.width = kWidth, .height = kHeight, .slots = 3, .color = {}};
constexpr FrameRingDesc kBuffers{
    .width = kWidth, .height = kHeight, .storage = FrameRingDesc::Storage::Buffer, .slots = 3, .color = {}};
constexpr Nanoseconds kLong = std::chrono::seconds(20);

struct Paint {
    graph::Buffer pixels;
    graph::Image image;
};

/// What becomes of slots, without work on any device: the ring of a headless bridge.
class SlotsOfARing : public testing::InteropTest {
  protected:
    void SetUp() override {
        InteropTest::SetUp();
        accelerator_ = accel::cpu::create_device();
        make_bridge();
        ring_ = FrameRing::create(*bridge_, kBuffers).value();
    }
    void release() override { ring_.reset(); }
    void publish(std::int64_t index) {
        const auto slot = ring_->acquire();
        ASSERT_TRUE(slot);
        ring_->publish(*slot, {.index = index}, {});
    }
    std::unique_ptr<FrameRing> ring_;
};

TEST_F(SlotsOfARing, FramesComeOutInOrderWithAllThatIsKnownOfThem) {
    const auto slot = ring_->acquire();
    ASSERT_TRUE(slot);
    ASSERT_NE(slot->buffer, nullptr);
    EXPECT_TRUE(slot->reusable.is_past());
    ring_->publish(*slot, {.index = 7, .presentation_time = std::chrono::milliseconds(40)}, {});
    publish(8);
    const auto first = ring_->try_take(), second = ring_->try_take();
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->label.index, 7);
    EXPECT_EQ(first->label.presentation_time, std::chrono::milliseconds(40));
    EXPECT_EQ(first->buffer, slot->buffer);
    EXPECT_EQ(first->image, nullptr);
    EXPECT_EQ(first->width, kWidth);
    EXPECT_EQ(first->height, kHeight);
    EXPECT_EQ(first->row_bytes, 4U * kWidth);
    EXPECT_EQ(first->format, graph::PixelFormat::Rgba8Unorm);
    EXPECT_EQ(first->color, ColorDescription{});
    EXPECT_EQ(second->label.index, 8);
    EXPECT_FALSE(ring_->try_take());
}

TEST_F(SlotsOfARing, AReaderThatHoldsAllSlotsMakesTheWriterWaitAndNoFrameIsDropped) {
    std::vector<FrameRecord> held;
    for (std::int64_t index = 0; index < 3; ++index) {
        publish(index);
        held.push_back(ring_->try_take().value());
    }
    EXPECT_FALSE(ring_->acquire());
    EXPECT_EQ(ring_->stats().held, 3U);
    EXPECT_EQ(ring_->stats().stalls, 1U);
    std::thread reader([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        ASSERT_TRUE(ring_->release(held[1], {}));
    });
    const auto slot = ring_->acquire(kLong);
    reader.join();
    ASSERT_TRUE(slot);
    EXPECT_EQ(slot->index, held[1].slot);
    ring_->publish(*slot, {.index = 3}, {});
    EXPECT_EQ(ring_->try_take().value().label.index, 3);
    EXPECT_EQ(ring_->stats().published, 4U);
}

TEST_F(SlotsOfARing, SlotsGivenBackOutOfOrderAreWrittenAgainInTheOrderOfTheirReturn) {
    std::vector<FrameRecord> held;
    for (std::int64_t index = 0; index < 3; ++index) {
        publish(index);
        held.push_back(ring_->try_take().value());
    }
    const auto timeline = accelerator_->create_timeline().value();
    for (const std::size_t i : {2U, 0U, 1U}) ASSERT_TRUE(ring_->release(held[i], {VK_NULL_HANDLE, timeline, 10 + i}));
    for (const std::size_t i : {2U, 0U, 1U}) {
        const auto slot = ring_->acquire();
        ASSERT_TRUE(slot);
        EXPECT_EQ(slot->index, held[i].slot);
        EXPECT_EQ(slot->reusable.timeline, timeline);
        EXPECT_EQ(slot->reusable.value, 10 + i);
        EXPECT_FALSE(bridge_->has_reached(slot->reusable));
    }
    timeline->signal(12);
    EXPECT_TRUE(bridge_->has_reached({VK_NULL_HANDLE, timeline, 12}));
}

TEST_F(SlotsOfARing, AFrameIsGivenBackOnce) {
    publish(0);
    const FrameRecord record = ring_->try_take().value();
    ASSERT_TRUE(ring_->release(record, {}));
    const auto again = ring_->release(record, {});
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, ErrorCode::InvalidArgument);
    EXPECT_NE(again.error().message.find("frame 0 (slot 0, use 1) is not held"), std::string::npos)
        << again.error().message;
    // Nor is a record of the slot's use before good for the next one.
    publish(1), publish(2), publish(3);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(ring_->try_take());
    EXPECT_FALSE(ring_->release(record, {}));
    EXPECT_FALSE(ring_->release({}, {}));
}

TEST_F(SlotsOfARing, ARestartThrowsAwayWhatWasNotTakenAndLeavesReadersWhatTheyHold) {
    publish(0);
    const FrameRecord held = ring_->try_take().value();
    publish(1);
    const auto being_written = ring_->acquire();
    ASSERT_TRUE(being_written);
    ring_->restart();
    ring_->publish(*being_written, {.index = 2}, {});  // of the generation before
    EXPECT_FALSE(ring_->try_take());
    EXPECT_EQ(ring_->stats().held, 1U);
    EXPECT_EQ(ring_->stats().free, 2U);
    publish(0);
    const auto fresh = ring_->try_take();
    ASSERT_TRUE(fresh);
    EXPECT_EQ(held.generation, 0U);
    EXPECT_EQ(fresh->generation, 1U);
    EXPECT_TRUE(ring_->release(held, {}));
}

TEST_F(SlotsOfARing, AnAbandonedSlotComesBackWithThePointThatItsWriterHadToWaitFor) {
    publish(0);
    const auto timeline = accelerator_->create_timeline().value();
    ASSERT_TRUE(ring_->release(ring_->try_take().value(), {VK_NULL_HANDLE, timeline, 5}));
    const auto first = ring_->acquire(), second = ring_->acquire(), third = ring_->acquire();
    ASSERT_TRUE(first && second && third);
    EXPECT_EQ(third->reusable.value, 5U);
    ring_->abandon(*third);
    EXPECT_EQ(ring_->acquire().value().reusable.value, 5U);
}

TEST_F(SlotsOfARing, ImagesNeedVulkanAndAFrameNeedsPixels) {
    const auto images = FrameRing::create(*bridge_, kImages);
    ASSERT_FALSE(images);
    EXPECT_NE(images.error().message.find("headless: there is no Vulkan device"), std::string::npos);
    EXPECT_FALSE(FrameRing::create(*bridge_, {.width = 4, .height = 0, .color = {}}));
    EXPECT_FALSE(FrameRing::create(*bridge_, {.width = 4, .height = 4, .slots = 0, .color = {}}));
}

TEST_F(SlotsOfARing, HeadlessAReaderWaitsForTheAcceleratorsOwnTimeline) {
    const auto lane = accel::AcceleratorLane::create(*accelerator_).value();
    const TimelinePoint point = bridge_->export_point({lane->timeline(), 4}).value();
    EXPECT_EQ(point.timeline, lane->timeline());
    EXPECT_FALSE(bridge_->has_reached(point));
    lane->timeline()->signal(4);
    EXPECT_TRUE(bridge_->wait(point));
}

/// The whole way: the accelerator makes pixels, Vulkan brings them to an image of the ring, and a host application
/// reads that on its own queue and gives it back with a semaphore of its own.
class FramesOfARing : public testing::InteropTest, public ::testing::WithParamInterface<Pairing> {
  protected:
    void set_up(const FrameRingDesc& desc) {
        validation_ = vulkan::Validation::WithoutSynchronization;  // relays signal while tests wait
        ASSERT_NO_FATAL_FAILURE(open(GetParam()));
        if (IsSkipped()) return;
        accelerator_lane_ = accel::AcceleratorLane::create(*accelerator_).value();
        copying_ = vulkan::VulkanLane::create(*display_, copy_lane_, nullptr, bridge_->lane_sharing()).value();
        ASSERT_TRUE(bridge_->connect(*accelerator_lane_, *copying_));
        graphics_memory_ = std::make_unique<vulkan::VulkanMemory>(*display_);
        executor_ = graph::Executor::create({.lanes = {accelerator_lane_.get(), copying_.get()},
                                             .memory = {{graph::MemoryDomain::Graphics, graphics_memory_.get()},
                                                        {graph::MemoryDomain::Shared, &bridge_->memory()}},
                                             .compile = {.topology = bridge_->lane_topology()}})
                        .value();
        ring_ = FrameRing::create(*bridge_, desc).value();
        reader_ = vulkan::create_timeline(*display_, "reader").value();
        readback_ =
            vulkan::Buffer::create(*display_, "read", ring_->frame_bytes(), {.memory = vulkan::MemoryUse::Readback})
                .value();
    }
    void release() override {
        if (!display_) return;
        EXPECT_TRUE(display_->wait_idle());
        executor_.reset();
        accelerator_lane_.reset();
        copying_.reset();
        ring_.reset();
        readback_.reset();
        graphics_memory_.reset();
        display_->retire(reader_);
    }
    /// The accelerator fills pixels with the frame's index.
    graph::Buffer declare_pixels(graph::FrameGraph& frame, graph::Buffer target, std::uint8_t value) {
        const graph::BufferDesc desc{.bytes = ring_->frame_bytes(), .domain = graph::MemoryDomain::Shared};
        return frame
            .add_pass<Paint>(
                "paint", Lane::Accelerator,
                [&](graph::PassBuilder& pass, Paint& data) {
                    data.pixels = target ? pass.write(target, graph::Access::KernelWrite)
                                         : pass.create("pixels", desc, graph::Access::KernelWrite);
                },
                [value, bytes = desc.bytes](const Paint& data, accel::PassContext& context) {
                    context.stream().fill(context.address(data.pixels), std::byte{value}, bytes);
                })
            .pixels;
    }
    graph::Image declare_copy(graph::FrameGraph& frame, graph::Buffer pixels, graph::Image image) {
        return frame
            .add_pass<Paint>(
                "to image", copy_lane_,
                [&](graph::PassBuilder& pass, Paint& data) {
                    data.pixels = pass.read(pixels, graph::Access::TransferRead);
                    data.image = pass.write(image, graph::Access::TransferWrite);
                },
                [](const Paint& data, vulkan::PassContext& context) {
                    const vulkan::BufferRange from = context.range(data.pixels);
                    VkBufferImageCopy region{};
                    region.bufferOffset = from.offset;
                    region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
                    region.imageExtent = {kWidth, kHeight, 1};
                    context.table().vkCmdCopyBufferToImage(context.commands(), from.buffer,
                                                           context.image(data.image).handle(),
                                                           VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
                })
            .image;
    }
    void write_frame(std::int64_t index) {
        const auto slot = ring_->acquire(kLong);
        ASSERT_TRUE(slot);
        graph::FrameGraph frame;
        graph::Image image;
        graph::Buffer buffer;
        const auto value = static_cast<std::uint8_t>(index + 1);
        if (slot->image != nullptr) {
            image = ring_->import_image(frame, *slot);
            ring_->declare_handover(frame, declare_copy(frame, declare_pixels(frame, {}, value), image), copy_lane_);
        } else {
            buffer = declare_pixels(frame, ring_->import_buffer(frame, *slot), value);
            frame.export_contents(buffer);
        }
        const auto execution = executor_->execute(frame);
        ASSERT_TRUE(execution) << execution.error().message;
        const auto ready = bridge_->export_point(image ? executor_->ready(image) : executor_->ready(buffer));
        ASSERT_TRUE(ready) << ready.error().message;
        ring_->publish(*slot, {.index = index}, *ready);
    }
    /// As a host application does: waits on its queue for the frame, reads it, signals its own semaphore. Returns the
    /// pixels' value, or -1 if they differ.
    int read_frame(const FrameRecord& record, std::uint64_t done) {
        const VolkDeviceTable& table = display_->table();
        EXPECT_NE(record.ready.semaphore, VkSemaphore{VK_NULL_HANDLE});
        EXPECT_TRUE(submit_empty(record.ready, {}));
        EXPECT_TRUE(display_->run_once("reading a frame", [&](VkCommandBuffer commands) {
            if (record.image != nullptr) {
                read_image(commands, *record.image, static_cast<VkImageLayout>(record.layout));
            } else {
                const VkBufferCopy all{0, 0, ring_->frame_bytes()};
                table.vkCmdCopyBuffer(commands, record.buffer->buffer()->handle(), readback_->handle(), 1, &all);
            }
        }));
        EXPECT_TRUE(submit_empty({}, {reader_, nullptr, done}));
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(readback_->mapped());
        const bool same = std::all_of(bytes, bytes + ring_->frame_bytes(), [&](auto b) { return b == bytes[0]; });
        return same ? bytes[0] : -1;
    }
    void read_image(VkCommandBuffer commands, const vulkan::Image& image, VkImageLayout layout) const {
        VkImageMemoryBarrier2 barrier{};
        barrier.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2;
        barrier.srcStageMask = barrier.dstStageMask = VK_PIPELINE_STAGE_2_COPY_BIT;
        barrier.dstAccessMask = VK_ACCESS_2_TRANSFER_READ_BIT;
        barrier.oldLayout = layout;
        barrier.newLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
        barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
        barrier.image = image.handle();
        barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
        VkDependencyInfo dependency{};
        dependency.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
        dependency.imageMemoryBarrierCount = 1;
        dependency.pImageMemoryBarriers = &barrier;
        display_->table().vkCmdPipelineBarrier2(commands, &dependency);
        VkBufferImageCopy region{};
        region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
        region.imageExtent = {kWidth, kHeight, 1};
        display_->table().vkCmdCopyImageToBuffer(commands, image.handle(), VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL,
                                                 readback_->handle(), 1, &region);
    }
    bool submit_empty(const TimelinePoint& wait, const TimelinePoint& signal) const {
        VkSemaphoreSubmitInfo waiting{}, signalling{};
        waiting.sType = signalling.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO;
        waiting.semaphore = wait.semaphore;
        waiting.value = wait.value;
        signalling.semaphore = signal.semaphore;
        signalling.value = signal.value;
        waiting.stageMask = signalling.stageMask = vulkan::every_stage(display_->queue(Lane::Graphics).flags);
        VkSubmitInfo2 info{};
        info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2;
        info.waitSemaphoreInfoCount = wait.is_past() ? 0 : 1;
        info.pWaitSemaphoreInfos = &waiting;
        info.signalSemaphoreInfoCount = signal.is_past() ? 0 : 1;
        info.pSignalSemaphoreInfos = &signalling;
        const vulkan::Queue& queue = display_->queue(Lane::Graphics);
        std::lock_guard lock(*queue.mutex);
        return display_->table().vkQueueSubmit2(queue.handle, 1, &info, VK_NULL_HANDLE) == VK_SUCCESS;
    }
    void signal_reader(std::uint64_t value) const {
        VkSemaphoreSignalInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO;
        info.semaphore = reader_;
        info.value = value;
        ASSERT_EQ(display_->table().vkSignalSemaphore(display_->handle(), &info), VK_SUCCESS);
    }

    Lane copy_lane_ = Lane::AsyncCompute;
    std::unique_ptr<accel::AcceleratorLane> accelerator_lane_;
    std::unique_ptr<vulkan::VulkanLane> copying_;
    std::unique_ptr<vulkan::VulkanMemory> graphics_memory_;
    std::unique_ptr<graph::Executor> executor_;
    std::unique_ptr<FrameRing> ring_;
    VkSemaphore reader_ = VK_NULL_HANDLE;
    std::unique_ptr<vulkan::Buffer> readback_;
};

TEST_P(FramesOfARing, ReachTheReadersQueueAsImages) {
    ASSERT_NO_FATAL_FAILURE(set_up(kImages));
    if (IsSkipped()) return;
    for (std::int64_t index = 0; index < 12; ++index) {
        write_frame(index);
        const auto record = ring_->try_take();
        ASSERT_TRUE(record);
        EXPECT_EQ(record->layout, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
        const auto done = static_cast<std::uint64_t>(index + 1);
        EXPECT_EQ(read_frame(*record, done), index + 1);
        ASSERT_TRUE(ring_->release(*record, {reader_, nullptr, done}));
    }
}

/// A queue for copies only knows nothing of samplers.
TEST_P(FramesOfARing, CopiedOnTheTransferLaneAreHandedOutReadyToBeCopiedAgain) {
    copy_lane_ = Lane::Transfer;
    ASSERT_NO_FATAL_FAILURE(set_up(kImages));
    if (IsSkipped()) return;
    for (std::int64_t index = 0; index < 5; ++index) {
        write_frame(index);
        const auto record = ring_->try_take();
        ASSERT_TRUE(record);
        EXPECT_EQ(record->layout, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
        const auto done = static_cast<std::uint64_t>(index + 1);
        EXPECT_EQ(read_frame(*record, done), index + 1);
        ASSERT_TRUE(ring_->release(*record, {reader_, nullptr, done}));
    }
}

TEST_P(FramesOfARing, ReachTheReadersQueueAsBuffers) {
    ASSERT_NO_FATAL_FAILURE(set_up(kBuffers));
    if (IsSkipped()) return;
    for (std::int64_t index = 0; index < 12; ++index) {
        write_frame(index);
        const auto record = ring_->try_take();
        ASSERT_TRUE(record);
        const auto done = static_cast<std::uint64_t>(index + 1);
        EXPECT_EQ(read_frame(*record, done), index + 1);
        ASSERT_TRUE(ring_->release(*record, {reader_, nullptr, done}));
    }
}

/// The writer submits at once, but its work does not touch the slot before the reader's work has ended.
TEST_P(FramesOfARing, ASlotIsWrittenOnlyAfterItsReadersWorkHasEnded) {
    for (const FrameRingDesc& desc : {kImages, kBuffers}) {
        SCOPED_TRACE(desc.storage == FrameRingDesc::Storage::Image ? "images" : "buffers");
        FrameRingDesc one = desc;
        one.slots = 1;
        ASSERT_NO_FATAL_FAILURE(set_up(one));
        if (IsSkipped()) return;
        write_frame(0);
        const FrameRecord first = ring_->try_take().value();
        ASSERT_TRUE(ring_->release(first, {reader_, nullptr, 1}));  // promised, not reached
        write_frame(1);
        const FrameRecord second = ring_->try_take().value();
        EXPECT_EQ(second.slot, first.slot);
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        EXPECT_FALSE(bridge_->has_reached(second.ready));
        signal_reader(1);
        ASSERT_TRUE(bridge_->wait(second.ready));
        EXPECT_EQ(read_frame(second, 2), 2);
        ASSERT_TRUE(ring_->release(second, {reader_, nullptr, 2}));
        TearDown();
        InteropTest::SetUp();
        log_.reset();
        reader_ = VK_NULL_HANDLE;
    }
}

TEST_P(FramesOfARing, AReaderThatNeverKeepsItsPromiseDoesNotKeepTheRingFromEnding) {
    FrameRingDesc one = kBuffers;
    one.slots = 1;
    ASSERT_NO_FATAL_FAILURE(set_up(one));
    if (IsSkipped()) return;
    write_frame(0);
    ASSERT_TRUE(ring_->release(ring_->try_take().value(), {reader_, nullptr, 1}));
    write_frame(1);
    bridge_->close();
    const auto waited = accelerator_lane_->wait(2);
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().code, ErrorCode::Cancelled);
    EXPECT_NE(waited.error().message.find("the bridge was closed while a timeline of the application"),
              std::string::npos)
        << waited.error().message;
}

/// A display thread beside the writer's: it holds two frames at a time and gives them back in the other order.
TEST_P(FramesOfARing, AWriterAndASlowReaderOnThreadsOfTheirOwnLoseNothing) {
    ASSERT_NO_FATAL_FAILURE(set_up(kImages));
    if (IsSkipped()) return;
    constexpr std::int64_t kFrames = 60;
    std::vector<int> seen;
    std::thread reader([&] {
        std::optional<FrameRecord> before;
        std::uint64_t done = 0;
        for (std::int64_t index = 0; index < kFrames; ++index) {
            const auto record = ring_->take(kLong);
            ASSERT_TRUE(record);
            EXPECT_EQ(record->label.index, index);
            seen.push_back(read_frame(*record, ++done));
            ASSERT_TRUE(!before || index % 2 == 0 || ring_->release(*record, {reader_, nullptr, done}));
            ASSERT_TRUE(!before || index % 2 == 0 || ring_->release(*before, {reader_, nullptr, done}));
            before = record;
        }
    });
    for (std::int64_t index = 0; index < kFrames; ++index) write_frame(index);
    reader.join();
    ASSERT_EQ(seen.size(), static_cast<std::size_t>(kFrames));
    for (std::int64_t index = 0; index < kFrames; ++index) EXPECT_EQ(seen[static_cast<std::size_t>(index)], index + 1);
}

INSTANTIATE_TEST_SUITE_P(Pairings, FramesOfARing,
                         ::testing::Values(testing::kSharedTimelines, testing::kSharedRelayed, testing::kStagedPinned,
                                           testing::kStagedMapped),
                         [](const auto& pairing) { return pairing.param.name; });

}  // namespace
}  // namespace kinetograph::interop
