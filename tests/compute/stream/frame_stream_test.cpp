#include <kinetograph/compute/stream/frame_stream.hpp>

#include <kinetograph/engine/accel/cpu/device.hpp>
#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/device.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace kinetograph::stream {
namespace {

using interop::FrameRecord;
using interop::FrameRingDesc;

constexpr Nanoseconds kLong = std::chrono::seconds(30);

/// Decodes nothing: frame i of the clip is filled with the value that becomes the byte i.
class CountingDecoder final : public vae::Decoder {
  public:
    Result<vae::DecodedFrames> step(std::span<const float> latent) override {
        if (latent[0] < 0) return fail(ErrorCode::InvalidArgument, "latent frame {} is negative", steps_);
        const std::int64_t count = steps_ == 0 ? 1 : 4;
        pixels_.clear();
        for (std::int64_t frame = next_; frame < next_ + count; ++frame)
            pixels_.insert(pixels_.end(), 8 * 16 * 3, static_cast<float>(frame) / 127.5F - 1.0F);
        vae::DecodedFrames frames{next_, count, 8, 16, pixels_, {}};
        next_ += count;
        ++steps_;
        return frames;
    }
    Result<void> reset() override {
        next_ = steps_ = 0;
        return {};
    }
    Result<std::vector<float>> trace(std::span<const float>, std::string_view) override { return std::vector<float>{}; }
    vae::LatentSize latent_size() const override { return {1, 2}; }
    const graph::Plan* plan() const override { return nullptr; }
    Result<graph::Plan> compile_plan(int) const override { return fail(ErrorCode::Unsupported, "no graph"); }
    std::uint64_t peak_device_bytes() const override { return 0; }
    vae::StackMemory memory() const override { return {}; }

  private:
    std::int64_t next_ = 0, steps_ = 0;
    std::vector<float> pixels_;
};

vae::Latents clip(std::int64_t frames, std::int64_t broken = -1) {
    vae::Latents latents{"clip", 1, frames, 1, 2, {}, 25.0, 0};
    for (std::int64_t t = 0; t < 2 * frames; ++t) latents.values.push_back(t / 2 == broken ? -1.0F : 0.5F);
    return latents;
}

class Streams : public ::testing::TestWithParam<FrameRingDesc::Storage> {
  protected:
    void open_display() {
        auto loader = vulkan::Loader::open();
        ASSERT_TRUE(loader) << loader.error().message;
        // Without synchronization checks: relays signal timelines while the tests wait for others.
        auto instance = vulkan::Instance::create(*loader, {.validation = vulkan::Validation::WithoutSynchronization});
        ASSERT_TRUE(instance) << instance.error().message;
        instance_ = std::move(*instance);
        log_ = instance_->validation();
        display_ = vulkan::Device::create(*instance_).value();
        reader_ = vulkan::create_timeline(*display_, "reader").value();
    }
    void start(vae::Latents latents, const FrameStreamOptions& options = {}) {
        if (!bridge_) bridge_ = interop::Bridge::create(*accelerator_, display_.get()).value();
        auto stream = FrameStream::create(*bridge_, std::make_unique<CountingDecoder>(), std::move(latents), options);
        ASSERT_TRUE(stream) << stream.error().message;
        stream_ = std::move(*stream);
    }
    void TearDown() override {
        stream_.reset();
        bridge_.reset();
        if (display_) display_->table().vkDestroySemaphore(display_->handle(), reader_, nullptr);
        display_.reset();
        instance_.reset();
        if (log_) {
            EXPECT_EQ(log_->text(), "");
        }
    }
    /// The next frame, however long it takes; an error ends the waiting too.
    Result<std::optional<FrameRecord>> take() {
        for (const Nanoseconds begin = host_now(); host_now() - begin < kLong;) {
            auto record = stream_->try_take();
            if (!record || *record || stream_->finished()) return record;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return fail(ErrorCode::Cancelled, "no frame in half a minute");
    }
    /// Byte of which all colours of the frame consist, alpha being 255; -1 if they differ.
    int read(const FrameRecord& record) {
        EXPECT_TRUE(bridge_->wait(record.ready));
        std::vector<std::uint8_t> bytes(record.row_bytes * record.height);
        if (record.image != nullptr)
            read_image(record, bytes);
        else
            std::memcpy(bytes.data(), record.buffer->host_address(), bytes.size());
        for (std::size_t i = 0; i < bytes.size(); ++i)
            if (bytes[i] != (i % 4 == 3 ? 255 : bytes[0])) return -1;
        return bytes[0];
    }
    void read_image(const FrameRecord& record, std::vector<std::uint8_t>& bytes) {
        const auto buffer =
            vulkan::Buffer::create(*display_, "read", bytes.size(), {.memory = vulkan::MemoryUse::Readback}).value();
        ASSERT_TRUE(display_->run_once("reading a frame", [&](VkCommandBuffer commands) {
            VkImageMemoryBarrier2 barrier{};
            barrier.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2;
            barrier.srcStageMask = barrier.dstStageMask = VK_PIPELINE_STAGE_2_COPY_BIT;
            barrier.dstAccessMask = VK_ACCESS_2_TRANSFER_READ_BIT;
            barrier.oldLayout = record.layout;
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
            display_->table().vkCmdCopyImageToBuffer(
                commands, record.image->handle(), VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, buffer->handle(), 1, &region);
        }));
        std::memcpy(bytes.data(), buffer->mapped(), bytes.size());
    }

    std::unique_ptr<vulkan::Instance> instance_;
    std::shared_ptr<vulkan::ValidationLog> log_;
    std::unique_ptr<vulkan::Device> display_;
    VkSemaphore reader_ = VK_NULL_HANDLE;
    std::unique_ptr<accel::Device> accelerator_ = accel::cpu::create_device();
    std::unique_ptr<interop::Bridge> bridge_;
    std::unique_ptr<FrameStream> stream_;
};

TEST_P(Streams, HandOutEveryFrameInOrderWithItsTimeAndPixels) {
    ASSERT_NO_FATAL_FAILURE(open_display());
    ASSERT_NO_FATAL_FAILURE(start(clip(5), {.storage = GetParam(), .slots = 3}));
    for (int i = 0; i < 17; ++i) {
        const auto record = take();
        ASSERT_TRUE(record && *record) << i;
        EXPECT_EQ((*record)->label.index, i);
        EXPECT_EQ((*record)->label.presentation_time, i * std::chrono::milliseconds(40));
        EXPECT_EQ((*record)->width, 16U);
        EXPECT_EQ((*record)->height, 8U);
        EXPECT_EQ(read(**record), i);
        ASSERT_TRUE(stream_->release(**record, {}));
    }
    const auto none = take();
    ASSERT_TRUE(none);
    EXPECT_FALSE(*none);
    EXPECT_TRUE(stream_->finished());
}

TEST_P(Streams, HoldTheDecoderBackWhileReadersHoldAllFrames) {
    ASSERT_NO_FATAL_FAILURE(open_display());
    ASSERT_NO_FATAL_FAILURE(start(clip(20), {.storage = GetParam(), .slots = 2, .queue_capacity = 4}));
    const auto first = take(), second = take();
    ASSERT_TRUE(first && *first && second && *second);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    EXPECT_FALSE(*stream_->try_take());
    EXPECT_LE(stream_->queue().stats().steps, 5U);
    EXPECT_EQ(read(**second), 1);
    ASSERT_TRUE(stream_->release(**second, {}));
    const auto third = take();
    ASSERT_TRUE(third && *third);
    EXPECT_EQ((*third)->slot, (*second)->slot);
    EXPECT_EQ(read(**third), 2);
    EXPECT_EQ(read(**first), 0);
}

TEST_P(Streams, BeginAgainAfterARestartWithANewGeneration) {
    ASSERT_NO_FATAL_FAILURE(open_display());
    ASSERT_NO_FATAL_FAILURE(start(clip(4), {.storage = GetParam(), .slots = 3}));
    std::optional<FrameRecord> held;
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i <= round; ++i) {
            const auto record = take();
            ASSERT_TRUE(record && *record);
            EXPECT_EQ((*record)->generation, static_cast<std::uint64_t>(round));
            EXPECT_EQ((*record)->label.index, i);
            EXPECT_EQ(read(**record), i);
            ASSERT_TRUE(!held || stream_->release(*held, {}));  // across the restart too
            held = **record;
        }
        stream_->restart();
    }
    // Also from the end, where nothing goes on by itself any more.
    ASSERT_TRUE(stream_->release(*held, {}));
    for (int i = 0; i < 13; ++i) {
        const auto record = take();
        ASSERT_TRUE(record && *record) << i;
        ASSERT_TRUE(stream_->release(**record, {}));
    }
    ASSERT_FALSE(*take());
    stream_->restart();
    EXPECT_FALSE(stream_->finished());
    const auto again = take();
    ASSERT_TRUE(again && *again);
    EXPECT_EQ(read(**again), 0);
}

TEST_P(Streams, TellADecodersErrorAfterTheFramesBeforeIt) {
    ASSERT_NO_FATAL_FAILURE(open_display());
    ASSERT_NO_FATAL_FAILURE(start(clip(6, 2), {.storage = GetParam(), .slots = 3}));
    for (int i = 0; i < 5; ++i) {
        const auto record = take();
        ASSERT_TRUE(record && *record) << i;
        EXPECT_EQ(read(**record), i);
        ASSERT_TRUE(stream_->release(**record, {}));
    }
    const auto failed = take();
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().message, "latent frame 2 is negative");
    EXPECT_FALSE(stream_->finished());
}

TEST_P(Streams, LoopForAsLongAsTheyAreRead) {
    ASSERT_NO_FATAL_FAILURE(open_display());
    ASSERT_NO_FATAL_FAILURE(start(clip(2), {.storage = GetParam(), .slots = 3, .loop = true}));
    for (int i = 0; i < 23; ++i) {
        const auto record = take();
        ASSERT_TRUE(record && *record);
        EXPECT_EQ((*record)->label.index, i % 5);
        EXPECT_EQ(read(**record), i % 5);
        ASSERT_TRUE(stream_->release(**record, {}));
    }
}

INSTANTIATE_TEST_SUITE_P(Storage, Streams,
                         ::testing::Values(FrameRingDesc::Storage::Image, FrameRingDesc::Storage::Buffer),
                         [](const auto& storage) {
                             return storage.param == FrameRingDesc::Storage::Image ? "Images" : "Buffers";
                         });

class HeadlessStreams : public Streams {};

TEST_F(HeadlessStreams, HandOutTheAcceleratorsOwnMemoryAndTimeline) {
    ASSERT_NO_FATAL_FAILURE(start(clip(3), {.slots = 2}));
    for (int i = 0; i < 9; ++i) {
        const auto record = take();
        ASSERT_TRUE(record && *record);
        EXPECT_EQ((*record)->image, nullptr);
        EXPECT_NE((*record)->ready.timeline, nullptr);
        EXPECT_EQ(read(**record), i);
        ASSERT_TRUE(stream_->release(**record, {}));
    }
}

TEST_F(HeadlessStreams, RefuseAClipOfAnotherSizeThanTheDecoders) {
    vae::Latents large = clip(1);
    large.width = 3;
    large.values.resize(3);
    bridge_ = interop::Bridge::create(*accelerator_, nullptr).value();
    const auto stream = FrameStream::create(*bridge_, std::make_unique<CountingDecoder>(), std::move(large));
    ASSERT_FALSE(stream);
    EXPECT_EQ(stream.error().code, ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace kinetograph::stream
