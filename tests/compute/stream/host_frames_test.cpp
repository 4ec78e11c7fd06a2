// Frames on their way from a GPU to the host's memory, while the stand-in driver holds their copies back. Its kernels
// do nothing: what is copied is what new memory of the device holds.
#include "stream_fixture.hpp"

#include <kinetograph/compute/stream/step_loop.hpp>
#include <kinetograph/engine/graph/timeline.hpp>
#include <kinetograph/tests/engine/interop/cuda_side.hpp>
#include <kinetograph/tests/engine/interop/watchdog.hpp>

#include <thread>

namespace kinetograph::stream {
namespace {

class HostFrames : public testing::StreamTest {
  protected:
    static constexpr Nanoseconds kSoon = std::chrono::seconds(20), kMoment = std::chrono::milliseconds(50);
    static constexpr std::uint64_t kFrameBytes = std::uint64_t{8} * 8 * 4, kLatentBytes = 16 * sizeof(float);
    static constexpr vae::LatentSize kSize{testing::kHeight, 1};

    void open_with_copies_held() {
        if (cuda_.real()) GTEST_SKIP() << "a real driver holds no copies back";
        validation_ = vulkan::Validation::Off;
        ASSERT_NO_FATAL_FAILURE(open(cuda_));
        model_ = testing::small_model(*accelerator_);
        cuda_.control()->hold_copies_to_host(true);
    }
    void go_on() { cuda_.control()->hold_copies_to_host(false); }
    void release() override {
        if (!cuda_.real()) go_on();
        stream_.reset();
        ring_decoder_.reset();
        decoder_.reset();
        latents_.reset();
        model_.reset();
        StreamTest::release();
    }
    void TearDown() override {
        StreamTest::TearDown();
        EXPECT_EQ(cuda_.complaints(), "");
    }
    void start_stream(std::int64_t latent_frames = 2, std::uint32_t slots = 12) {
        ASSERT_NO_FATAL_FAILURE(open_with_copies_held());
        if (IsSkipped()) return;
        vae::StepOptions options;
        options.storage = testing::FrameRingDesc::Storage::Host;
        options.slots = slots;
        auto stream = StepLoop::of_clip(bridge(), model_, testing::small_clip(latent_frames, 1), options);
        ASSERT_TRUE(stream) << stream.error().message;
        stream_ = std::move(*stream);
        const Nanoseconds until = host_now() + kSoon;
        while (stream_->stats().times.last_step == Nanoseconds{} && host_now() < until)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        ASSERT_GT(stream_->stats().times.last_step, Nanoseconds{}) << "a step is done, its copy is not";
    }
    void start_decoder() {
        ASSERT_NO_FATAL_FAILURE(open_with_copies_held());
        if (IsSkipped()) return;
        auto decoder = stream::Decoder::create(model_, kSize);
        ASSERT_TRUE(decoder) << decoder.error().message;
        decoder_ = std::move(*decoder);
        for (int i = 0; i < 2; ++i) ASSERT_TRUE(decoder_->enqueue(latent_));
        ASSERT_NO_FATAL_FAILURE(expect_steps_done(decoder_->runner()));
    }
    /// Ends the process, with 0 if the stream ends although copies to memory that a reader never stops reading wait.
    void end_a_stream_whose_reader_reads_on() {
        start_stream(3, 5);
        go_on();
        const auto never = std::make_shared<graph::HostTimeline>("a reader");
        for (int i = 0; i < 5; ++i) {
            const auto record = stream_->take(kSoon);
            if (!record || !*record || !stream_->release(**record, {VK_NULL_HANDLE, never, 1})) std::_Exit(2);
        }
        while (stream_->health().lanes.back().submitted < 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        stream_.reset();
        model_.reset();
        std::_Exit(HasFailure() ? 1 : 0);
    }
    static void expect_steps_done(vae::Runner& runner) {
        ASSERT_TRUE(runner.lane().timeline()->wait(runner.lane().state().submitted, kSoon));
    }

    interop::testing::CudaSide cuda_{STANDIN_CUDA_IDLE};
    const interop::testing::Watchdog watchdog_{"frames on their way to the host", std::chrono::seconds(120)};
    const std::vector<float> latent_ = std::vector<float>(16, 0.5F);
    std::shared_ptr<vae::Model> model_;
    std::unique_ptr<accel::Memory> latents_;
    std::unique_ptr<stream::Decoder> decoder_;
    std::unique_ptr<Stepper> ring_decoder_;
    std::unique_ptr<FrameSource> stream_;
};

TEST_F(HostFrames, AreCopiedWhileTheNextStepRuns) {
    ASSERT_NO_FATAL_FAILURE(open_with_copies_held());
    if (IsSkipped()) return;
    latents_ = accelerator_->allocate("latents", kLatentBytes).value();
    auto created =
        Stepper::create(*bridge_, model_, kSize, {.storage = testing::FrameRingDesc::Storage::Host, .slots = 12});
    ASSERT_TRUE(created) << created.error().message;
    ring_decoder_ = std::move(*created);
    const std::uint64_t taken = accelerator_->bytes_allocated();
    const auto step = [&](Nanoseconds timeout) {
        return ring_decoder_->step({latents_->data(), kLatentBytes}, timeout).value();
    };
    for (int i = 0; i < 2; ++i) ASSERT_EQ(step({}), Stepped::Enqueued);
    ASSERT_NO_FATAL_FAILURE(expect_steps_done(ring_decoder_->runner()));
    EXPECT_FALSE(ring_decoder_->ring().try_take_ready());
    EXPECT_FALSE(ring_decoder_->lane_states().back().is_idle());
    EXPECT_EQ(step(kMoment), Stepped::NoSlots) << "the frames of two steps are on the device";
    const auto stood = ring_decoder_->wait_for_steps(std::chrono::seconds(1));
    ASSERT_FALSE(stood);
    EXPECT_NE(stood.error().message.find("nothing has moved for 1 s:"), std::string::npos) << stood.error().message;
    EXPECT_NE(stood.error().message.find("\nlane copies: submitted 2, reached 0"), std::string::npos)
        << stood.error().message;
    go_on();
    ASSERT_EQ(step(kSoon), Stepped::Enqueued);
    for (int i = 0; i < 9; ++i) {
        const auto record = ring_decoder_->ring().try_take();
        ASSERT_TRUE(record) << i;
        EXPECT_EQ(read(*record), std::vector<std::uint8_t>(kFrameBytes, 0xFF)) << i;
        ASSERT_TRUE(ring_decoder_->ring().release(*record, {}));
    }
    EXPECT_EQ(accelerator_->bytes_allocated(), taken);
    const vae::StepOptions options{.storage = testing::FrameRingDesc::Storage::Host, .slots = 12};
    EXPECT_EQ(Stepper::memory_of_frames(*bridge_, *model_, kSize, options).stream,
              2 * vae::whole_pages(4 * kFrameBytes));
}

TEST_F(HostFrames, TakeTheDeviceMemoryThatAStreamStates) {
    ASSERT_NO_FATAL_FAILURE(start_stream());
    if (IsSkipped()) return;
    const vae::StackMemory memory = stream_->facts().memory;
    EXPECT_EQ(memory.stream, 2 * vae::whole_pages(4 * kFrameBytes) + vae::whole_pages(2 * kLatentBytes));
    EXPECT_LE(accelerator_->bytes_allocated(), memory.total() - memory.io);
}

TEST_F(HostFrames, AreNotHandedOutIfTheDeviceIsLostBeforeTheyAreCopied) {
    ASSERT_NO_FATAL_FAILURE(start_stream());
    if (IsSkipped()) return;
    cuda_.control()->fail();
    const Nanoseconds begin = host_now();
    const auto lost = stream_->take(kSoon);
    ASSERT_FALSE(lost) << (*lost ? "a frame" : "nothing");
    EXPECT_EQ(lost.error().code, ErrorCode::DeviceLost) << lost.error().message;
    EXPECT_LT(host_now() - begin, kSoon / 2);
    const auto again = stream_->try_take_ahead();
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().message, lost.error().message);
    EXPECT_TRUE(stream_->close(kSoon));
}

TEST_F(HostFrames, OfAnEarlierGenerationAreCopiedBeforeARestartedClips) {
    ASSERT_NO_FATAL_FAILURE(start_stream());
    if (IsSkipped()) return;
    stream_->restart();
    EXPECT_FALSE(stream_->take(kMoment).value());
    go_on();
    const auto record = stream_->take(kSoon);
    ASSERT_TRUE(record && *record);
    EXPECT_EQ((*record)->generation, 1U);
    EXPECT_EQ((*record)->label.index, 0);
    ASSERT_TRUE(stream_->release(**record, {}));
}

TEST_F(HostFrames, AreWaitedForWhenAStreamIsClosed) {
    ASSERT_NO_FATAL_FAILURE(start_stream());
    if (IsSkipped()) return;
    EXPECT_FALSE(stream_->close(kMoment));
    go_on();
    EXPECT_TRUE(stream_->close(kSoon));
}

TEST_F(HostFrames, OfWhichOneIsReadForEverLetTheirStreamEnd) {
    if (cuda_.real()) GTEST_SKIP() << "a real driver holds no copies back";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(end_a_stream_whose_reader_reads_on(), ::testing::ExitedWithCode(0), "never released");
}

TEST_F(HostFrames, OfABlockingDecoderAreWaitedForAsLongAsItsCallerSays) {
    ASSERT_NO_FATAL_FAILURE(start_decoder());
    if (IsSkipped()) return;
    EXPECT_EQ(decoder_->memory().stream, 2 * vae::whole_pages(std::uint64_t{4} * 8 * 8 * 3 * sizeof(float)));
    const auto held = decoder_->take({.until = host_now() + kMoment});
    ASSERT_FALSE(held);
    EXPECT_EQ(held.error().code, ErrorCode::Cancelled);
    EXPECT_FALSE(decoder_->enqueue(latent_)) << "the clip is over";
    go_on();
    ASSERT_TRUE(decoder_->reset());
    for (const std::int64_t count : {1, 4}) {
        const auto frames = decoder_->step(latent_);
        ASSERT_TRUE(frames) << frames.error().message;
        EXPECT_EQ(frames->frames.count, count);
        for (const std::span<const float> picture : frames->pictures) {
            const auto bytes = std::as_bytes(picture);
            EXPECT_TRUE(std::ranges::all_of(bytes, [](std::byte value) { return value == std::byte{0xFF}; }));
        }
    }
}

TEST_F(HostFrames, OfABlockingDecoderThatAreLostEndItsClip) {
    ASSERT_NO_FATAL_FAILURE(start_decoder());
    if (IsSkipped()) return;
    cuda_.control()->fail();
    const auto lost = decoder_->take();
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error().code, ErrorCode::DeviceLost) << lost.error().message;
    const auto next = decoder_->enqueue(latent_);
    ASSERT_FALSE(next);
    EXPECT_EQ(next.error().message, lost.error().message);
}

}  // namespace
}  // namespace kinetograph::stream
