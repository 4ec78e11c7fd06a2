#include "stream_fixture.hpp"

#include <kinetograph/compute/stream/frame_stream.hpp>

#include <limits>
#include <thread>

namespace kinetograph::stream {
namespace {

using testing::Case;
using testing::FrameRecord;
using testing::small_clip;
using testing::small_decoder;

constexpr Nanoseconds kLong = std::chrono::seconds(30);

class Streams : public testing::StreamTest, public ::testing::WithParamInterface<Case> {
  protected:
    void start(const vae::Latents& clip, FrameStreamOptions options = {}) {
        expected_ = testing::expected_frames(*small_decoder(*accelerator_), small_clip(6));
        auto stream = FrameStream::create(*bridge_, small_decoder(*accelerator_), clip, options);
        ASSERT_TRUE(stream) << stream.error().message;
        stream_ = std::move(*stream);
    }
    void open_and_start(const vae::Latents& clip, FrameStreamOptions options = {}) {
        ASSERT_NO_FATAL_FAILURE(open_case(GetParam()));
        if (IsSkipped()) return;
        options.storage = GetParam().storage;
        ASSERT_NO_FATAL_FAILURE(start(clip, options));
    }
    void release() override {
        stream_.reset();
        StreamTest::release();
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
    void expect_frame(const Result<std::optional<FrameRecord>>& record, std::int64_t index) {
        ASSERT_TRUE(record) << record.error().message;
        ASSERT_TRUE(*record) << index;
        EXPECT_EQ((*record)->label.index, index);
        EXPECT_EQ(read(**record), expected_[static_cast<std::size_t>(index)]) << index;
    }
    void expect_frames(std::int64_t first, std::int64_t end) {
        for (std::int64_t i = first; i < end; ++i) {
            const auto record = take();
            ASSERT_NO_FATAL_FAILURE(expect_frame(record, i));
            ASSERT_TRUE(stream_->release(**record, {}));
        }
    }

    std::vector<std::vector<std::uint8_t>> expected_;  ///< of the clip of six latent frames, and of its beginnings
    std::unique_ptr<FrameStream> stream_;
};

TEST_P(Streams, HandOutEveryFrameInOrderWithItsTimeAndPixels) {
    ASSERT_NO_FATAL_FAILURE(open_and_start(small_clip(6), {.slots = 5}));
    if (IsSkipped()) return;
    for (int i = 0; i < 21; ++i) {
        const auto record = take();
        ASSERT_NO_FATAL_FAILURE(expect_frame(record, i));
        EXPECT_EQ((*record)->label.presentation_time, i * std::chrono::milliseconds(40));
        EXPECT_EQ((*record)->width, testing::kFrameWidth);
        EXPECT_EQ((*record)->height, testing::kFrameHeight);
        ASSERT_TRUE(stream_->release(**record, {}));
    }
    const auto none = take();
    ASSERT_TRUE(none);
    EXPECT_FALSE(*none);
    EXPECT_TRUE(stream_->finished());
    EXPECT_EQ(stream_->stats().times.steps, 6U);
    EXPECT_TRUE(stream_->stats().finished);
}

TEST_P(Streams, HoldTheDecoderBackWhileReadersHoldAllFrames) {
    ASSERT_NO_FATAL_FAILURE(open_and_start(small_clip(6), {.slots = 5}));
    if (IsSkipped()) return;
    const auto first = take(), second = take();
    ASSERT_TRUE(first && *first && second && *second);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    EXPECT_EQ(stream_->stats().times.steps, 2U);
    ASSERT_NO_FATAL_FAILURE(expect_frame(second, 1));
    ASSERT_TRUE(stream_->release(**second, {}));
    ASSERT_NO_FATAL_FAILURE(expect_frames(2, 9));
    ASSERT_NO_FATAL_FAILURE(expect_frame(first, 0));
    ASSERT_TRUE(stream_->release(**first, {}));
}

TEST_P(Streams, BeginAgainAfterARestartWithANewGeneration) {
    ASSERT_NO_FATAL_FAILURE(open_and_start(small_clip(6)));
    if (IsSkipped()) return;
    std::optional<FrameRecord> held;
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i <= 2 * round; ++i) {
            const auto record = take();
            ASSERT_NO_FATAL_FAILURE(expect_frame(record, i));
            EXPECT_EQ((*record)->generation, static_cast<std::uint64_t>(round));
            ASSERT_TRUE(!held || stream_->release(*held, {}));  // across the restart too
            held = **record;
        }
        stream_->restart();
    }
    // Also from the end, where nothing goes on by itself any more.
    ASSERT_TRUE(stream_->release(*held, {}));
    ASSERT_NO_FATAL_FAILURE(expect_frames(0, 21));
    ASSERT_FALSE(*take());
    stream_->restart();
    EXPECT_FALSE(stream_->finished());
    ASSERT_NO_FATAL_FAILURE(expect_frames(0, 3));
}

TEST_P(Streams, TellWhatCannotBeDecodedAfterTheFramesBeforeIt) {
    vae::Latents clip = small_clip(6);
    clip.values[3 * 2] = std::numeric_limits<float>::infinity();  // channel 0, frame 3
    ASSERT_NO_FATAL_FAILURE(open_and_start(clip));
    if (IsSkipped()) return;
    ASSERT_NO_FATAL_FAILURE(expect_frames(0, 9));
    const auto failed = take();
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().message, "latent frame 3: value inf at channel 0, pixel 0 is not finite");
    EXPECT_FALSE(stream_->finished());
    stream_->restart();
    ASSERT_NO_FATAL_FAILURE(expect_frames(0, 9));
}

TEST_P(Streams, LoopUntilToldOtherwise) {
    ASSERT_NO_FATAL_FAILURE(open_and_start(small_clip(6), {.loop = true}));
    if (IsSkipped()) return;
    for (int round = 0; round < 3; ++round) ASSERT_NO_FATAL_FAILURE(expect_frames(0, 21));
    stream_->set_loop(false);
    while (true) {
        const auto record = take();
        ASSERT_TRUE(record);
        if (!*record) break;
        ASSERT_TRUE(stream_->release(**record, {}));
    }
    EXPECT_TRUE(stream_->finished());
    stream_->set_loop(true);
    ASSERT_NO_FATAL_FAILURE(expect_frames(0, 5));
}

TEST_P(Streams, HandOutFramesAheadOfTheirContents) {
    ASSERT_NO_FATAL_FAILURE(open_and_start(small_clip(6)));
    if (IsSkipped()) return;
    for (int i = 0; i < 21; ++i) {
        Result<std::optional<FrameRecord>> record = stream_->try_take_ahead();
        while (record && !*record) record = stream_->try_take_ahead();
        ASSERT_NO_FATAL_FAILURE(expect_frame(record, i));  // waits for what the record says
        ASSERT_TRUE(stream_->release(**record, {}));
    }
}

INSTANTIATE_TEST_SUITE_P(Cases, Streams, ::testing::ValuesIn(testing::all_cases()),
                         [](const auto& chosen) { return testing::name_of(chosen.param); });

class HeadlessStreams : public Streams {};

/// Another decoder, until its third step.
class ThrowingDecoder final : public vae::Decoder {
  public:
    explicit ThrowingDecoder(std::unique_ptr<vae::Decoder> other) : other_(std::move(other)) {}
    Result<vae::DecodedFrames> step(std::span<const float> latent) override { return other_->step(latent); }
    Result<void> reset() override {
        steps_ = 0;
        return other_->reset();
    }
    Result<void> attach(vae::DeviceOutput output) override { return other_->attach(std::move(output)); }
    Result<vae::EnqueuedStep> enqueue(const vae::DeviceStep& step) override {
        if (++steps_ == 3) throw std::bad_alloc();
        return other_->enqueue(step);
    }
    accel::AcceleratorLane& lane() override { return other_->lane(); }
    Result<std::vector<float>> trace(std::span<const float> latent, std::string_view module) override {
        return other_->trace(latent, module);
    }
    std::vector<std::string> modules() const override { return other_->modules(); }
    vae::LatentSize latent_size() const override { return other_->latent_size(); }
    vae::StepFrames step_frames() const override { return other_->step_frames(); }
    const graph::Plan* plan() const override { return other_->plan(); }
    Result<graph::Plan> compile_plan(int kind) const override { return other_->compile_plan(kind); }
    std::uint64_t peak_device_bytes() const override { return other_->peak_device_bytes(); }
    vae::StackMemory memory() const override { return other_->memory(); }

  private:
    std::unique_ptr<vae::Decoder> other_;
    int steps_ = 0;
};

TEST_P(HeadlessStreams, TurnAnExceptionOfTheDecoderIntoAnErrorAfterTheFramesBeforeItUntilRestart) {
    ASSERT_NO_FATAL_FAILURE(open_headless());
    const vae::Latents clip = small_clip(6);
    expected_ = testing::expected_frames(*small_decoder(*accelerator_), clip);
    auto stream = FrameStream::create(*bridge_, std::make_unique<ThrowingDecoder>(small_decoder(*accelerator_)), clip);
    ASSERT_TRUE(stream) << stream.error().message;
    stream_ = std::move(*stream);
    for (int round = 0; round < 2; ++round) {
        ASSERT_NO_FATAL_FAILURE(expect_frames(0, 5));
        for (int i = 0; i < 3; ++i) {
            const auto failed = take();
            ASSERT_FALSE(failed);
            EXPECT_EQ(failed.error().message, "decoding: the host is out of memory");
        }
        stream_->restart();
    }
}

TEST_P(HeadlessStreams, HandOutTheAcceleratorsOwnMemoryAndTimeline) {
    ASSERT_NO_FATAL_FAILURE(open_headless());
    ASSERT_NO_FATAL_FAILURE(start(small_clip(6)));
    for (int i = 0; i < 21; ++i) {
        const auto record = take();
        ASSERT_NO_FATAL_FAILURE(expect_frame(record, i));
        EXPECT_EQ((*record)->image, nullptr);
        EXPECT_NE((*record)->ready.timeline, nullptr);
        ASSERT_TRUE(stream_->release(**record, {}));
    }
}

TEST_P(HeadlessStreams, RefuseAClipOfAnotherSizeThanTheDecoders) {
    ASSERT_NO_FATAL_FAILURE(open_headless());
    vae::Latents large = small_clip(1);
    large.width = 3;
    const auto stream = FrameStream::create(*bridge_, small_decoder(*accelerator_), large);
    ASSERT_FALSE(stream);
    EXPECT_EQ(stream.error().message, "clip: latents of 3x1 do not fit a decoder made for 2x1");
}

TEST_P(HeadlessStreams, RefuseFewerSlotsThanAStepAndAReaderNeed) {
    ASSERT_NO_FATAL_FAILURE(open_headless());
    const auto stream = FrameStream::create(*bridge_, small_decoder(*accelerator_), small_clip(1), {.slots = 4});
    ASSERT_FALSE(stream);
    EXPECT_EQ(stream.error().message, "a ring of 4 frames: a step makes 4 at once, and a reader holds at least one");
}

INSTANTIATE_TEST_SUITE_P(Cpu, HeadlessStreams, ::testing::Values(Case{}), [](const auto&) { return "Buffers"; });

}  // namespace
}  // namespace kinetograph::stream
