#include "stream_fixture.hpp"

#include <kinetograph/compute/stream/step_loop.hpp>
#include <kinetograph/tests/engine/interop/watchdog.hpp>
#include <kinetograph/tests/engine/vulkan/faults.hpp>

#include <atomic>
#include <cstring>
#include <future>
#include <limits>
#include <thread>

namespace kinetograph::stream {
namespace {

using testing::Case;
using testing::FrameRecord;
using testing::FrameRingDesc;
using testing::small_clip;
using testing::small_decoder;
using testing::small_model;

constexpr Nanoseconds kLong = std::chrono::seconds(30);
constexpr vae::LatentSize kSize{testing::kHeight, testing::kWidth};

class Streams : public testing::StreamTest, public ::testing::WithParamInterface<Case> {
  protected:
    void start(const vae::Latents& clip, vae::StepOptions options = {}) {
        expected_ = testing::expected_frames(*small_decoder(*accelerator_), small_clip(6));
        auto stream = StepLoop::of_clip(bridge(), small_model(*accelerator_), clip, options);
        ASSERT_TRUE(stream) << stream.error().message;
        stream_ = std::move(*stream);
    }
    void start_pushed(const vae::StepOptions& options) {
        auto source = StepLoop::of_pushed(bridge(), small_model(*accelerator_), kSize, options);
        ASSERT_TRUE(source) << source.error().message;
        stream_ = std::move(source->frames);
        latents_ = std::move(source->latents);
    }
    void open_and_start(const vae::Latents& clip, vae::StepOptions options = {}) {
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
        auto record = stream_->take(kLong);
        if (record && !*record && !stream_->finished()) return fail(ErrorCode::Cancelled, "no frame in half a minute");
        return record;
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
    std::unique_ptr<FrameSource> stream_;
    std::shared_ptr<LatentQueue> latents_;  ///< of a source to which they are pushed
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

TEST_P(Streams, RefuseFramesForWhichTheDeviceThatShowsThemHasNoRoom) {
    tells_budget_ = true;
    ASSERT_NO_FATAL_FAILURE(open_case(GetParam()));
    if (IsSkipped()) return;
    const auto model = small_model(*accelerator_);
    const std::uint64_t before = accelerator_->bytes_allocated();
    const auto create = [&] {
        return StepLoop::of_pushed(bridge(), model, kSize, {.storage = GetParam().storage, .slots = 8});
    };
    const auto fitting = create();
    ASSERT_TRUE(fitting) << fitting.error().message;
    const std::uint64_t shown = fitting->frames->facts().shown_bytes;
    EXPECT_EQ(shown == 0, GetParam().storage == FrameRingDesc::Storage::Host ||
                              (GetParam().storage == FrameRingDesc::Storage::Buffer &&
                               bridge_->choice().topology != interop::Topology::Shared));
    if (shown == 0) return;
    vulkan::testing::faults().heap_bytes_left = shown - 1;
    const auto refused = create();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
    EXPECT_NE(refused.error().message.find(": 8 frames need "), std::string::npos) << refused.error().message;
    EXPECT_GE(accelerator_->bytes_allocated(), before) << "nothing of the model has gone";
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

TEST_P(Streams, ReturnFromTakeWhenTheTimeHasPassedAndWhenTheyAreCancelledUntilRestart) {
    ASSERT_NO_FATAL_FAILURE(open_and_start(small_clip(6), {.slots = 5}));
    if (IsSkipped()) return;
    std::vector<FrameRecord> held;
    for (int i = 0; i < 5; ++i) held.push_back(**take());
    const Nanoseconds begin = host_now();
    const auto none = stream_->take(std::chrono::milliseconds(60));  // all slots are held: nothing can come
    ASSERT_TRUE(none) << none.error().message;
    EXPECT_FALSE(*none);
    EXPECT_GE(host_now() - begin, std::chrono::milliseconds(60));
    EXPECT_LT(host_now() - begin, std::chrono::seconds(10));

    auto waiting = std::async(std::launch::async, [&] { return stream_->take(kLong); });
    EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(30)), std::future_status::timeout);
    stream_->cancel();
    ASSERT_EQ(waiting.wait_for(std::chrono::seconds(10)), std::future_status::ready);
    for (const auto& cancelled : {waiting.get(), stream_->try_take(), stream_->try_take_ahead()}) {
        ASSERT_FALSE(cancelled);
        EXPECT_EQ(cancelled.error().code, ErrorCode::Cancelled);
        EXPECT_EQ(cancelled.error().message, "the stream was cancelled");
    }
    stream_->restart();
    ASSERT_NO_FATAL_FAILURE(expect_frame(held.front(), 0));  // frames that are held outlive both
    for (const FrameRecord& record : held) ASSERT_TRUE(stream_->release(record));
    ASSERT_NO_FATAL_FAILURE(expect_frames(0, 21));
}

TEST_P(Streams, StateTheClipsSizeItsMemoryAndItsWay) {
    ASSERT_NO_FATAL_FAILURE(open_and_start(small_clip(6), {.slots = 6}));
    if (IsSkipped()) return;
    const SourceFacts& facts = stream_->facts();
    EXPECT_EQ(facts.width, testing::kFrameWidth);
    EXPECT_EQ(facts.height, testing::kFrameHeight);
    EXPECT_EQ(facts.frames, 21);
    EXPECT_EQ(facts.frames_of_a_step, 4);
    EXPECT_EQ(facts.fps, 25.0);
    EXPECT_EQ(facts.slots, 6U);
    EXPECT_EQ(facts.route, bridge_->choice().reason);
    EXPECT_GT(facts.memory.parameters, 0U);
    EXPECT_GE(facts.memory.stream, 6U * 16 * 2 * sizeof(float)) << "the clip's latents";
    const bool in_host_memory = GetParam().storage == FrameRingDesc::Storage::Host;
    EXPECT_GE(facts.memory.io, in_host_memory ? 6U * 16 * 8 * 4 : 0U) << "the ring of frames";
}

INSTANTIATE_TEST_SUITE_P(Cases, Streams, ::testing::ValuesIn(testing::all_cases()),
                         [](const auto& chosen) { return testing::name_of(chosen.param); });

class HeadlessStreams : public Streams {};

/// Throws when it is asked, once.
class ThrowingTimeline final : public graph::HostTimeline {
  public:
    std::uint64_t value() const override {
        if (!thrown_.exchange(true)) throw std::bad_alloc();
        return 1;
    }

  private:
    mutable std::atomic<bool> thrown_{false};
};

/// Five slots hold the frames of two steps: the third step takes those that come back with a timeline that throws.
TEST_P(HeadlessStreams, TurnAnExceptionOfAStepIntoAnErrorAfterTheFramesBeforeItUntilRestart) {
    ASSERT_NO_FATAL_FAILURE(open_headless());
    ASSERT_NO_FATAL_FAILURE(start(small_clip(6), {.slots = 5}));
    for (int round = 0; round < 2; ++round) {
        std::vector<FrameRecord> held;
        for (int i = 0; i < 5; ++i) {
            const auto record = take();
            ASSERT_NO_FATAL_FAILURE(expect_frame(record, i));
            held.push_back(**record);
        }
        const auto throwing = std::make_shared<ThrowingTimeline>();
        throwing->signal(1);  // for who waits
        for (const FrameRecord& record : held) ASSERT_TRUE(stream_->release(record, {VK_NULL_HANDLE, throwing, 1}));
        for (int i = 0; i < 3; ++i) {
            const auto failed = take();
            ASSERT_FALSE(failed);
            EXPECT_EQ(failed.error().message, "decoding: the host is out of memory");
        }
        stream_->restart();
    }
}

TEST_P(HeadlessStreams, DecodeLatentsThatArePushedFromTheHostAndFromTheDevice) {
    ASSERT_NO_FATAL_FAILURE(open_headless());
    const vae::Latents clip = small_clip(6);
    expected_ = testing::expected_frames(*small_decoder(*accelerator_), clip);
    ASSERT_NO_FATAL_FAILURE(start_pushed({.storage = FrameRingDesc::Storage::Host, .slots = 5}));
    const auto memory = accelerator_->allocate("latent", clip.frame(0).size() * sizeof(float)).value();
    const auto uploads = accelerator_->create_stream("latent").value();
    for (int round = 0; round < 2; ++round) {
        for (std::int64_t t = 0; t < 3; ++t) {
            const std::vector<float> latent = clip.frame(t);
            std::vector<float> bad = latent;
            bad[5] = std::numeric_limits<float>::quiet_NaN();
            const auto refused = latents_->push(bad, kLong),
                       short_one = latents_->push(std::span(latent).first(3), kLong);
            ASSERT_FALSE(refused);
            EXPECT_EQ(refused.error().message,
                      fmt::format("latent frame {}: value nan at channel 2, pixel 1 is not finite", t));
            ASSERT_FALSE(short_one);
            EXPECT_EQ(short_one.error().message, fmt::format("latent frame {}: 3 values were given, 32 are wanted", t));
            if (t == 1) {
                ASSERT_TRUE(uploads->upload(memory->data(), std::as_bytes(std::span(latent))));
                ASSERT_TRUE(*latents_->push({memory->data(), memory->bytes(), {}}, kLong));
            } else {
                ASSERT_TRUE(*latents_->push(latent, kLong));
            }
            ASSERT_NO_FATAL_FAILURE(expect_frames(t == 0 ? 0 : 4 * t - 3, 4 * t + 1));
        }
        EXPECT_FALSE(stream_->finished());
        EXPECT_EQ(stream_->facts().frames, 0);
        stream_->restart();
    }
}

TEST_P(HeadlessStreams, ReturnFromPushWhenTheTimeHasPassedAndWhenTheyAreCancelled) {
    ASSERT_NO_FATAL_FAILURE(open_headless());
    ASSERT_NO_FATAL_FAILURE(start_pushed({.storage = FrameRingDesc::Storage::Host, .slots = 5}));
    const std::vector<float> latent = small_clip(1).frame(0);
    for (std::size_t i = 0; i < 3 + latents_->capacity(); ++i)  // two steps, one that has no slots, the queue
        ASSERT_TRUE(*latents_->push(latent, kLong)) << i;
    const auto no_room = latents_->push(latent, std::chrono::milliseconds(50));
    ASSERT_TRUE(no_room) << no_room.error().message;
    EXPECT_FALSE(*no_room);
    auto waiting = std::async(std::launch::async, [&] { return latents_->push(latent, kLong); });
    EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(30)), std::future_status::timeout);
    stream_->cancel();
    ASSERT_EQ(waiting.wait_for(std::chrono::seconds(10)), std::future_status::ready);
    EXPECT_EQ(waiting.get().error().code, ErrorCode::Cancelled);
}

/// Notes where the latents of every step lie.
class NotingQueue final : public LatentQueue {
  public:
    NotingQueue(const vae::Model& model, std::vector<const std::byte*>& places) : places_(places) {
        EXPECT_TRUE(make(model, kSize, 2));
    }
    void taken() override {
        places_.push_back(next(1)->latent.address);
        LatentQueue::taken();
    }

  private:
    std::vector<const std::byte*>& places_;
};

/// A device may not have begun the two steps before, however early their latents were pushed.
TEST_P(HeadlessStreams, ReadLatentsThatAreInOtherMemoryThanThoseOfTheTwoStepsBefore) {
    ASSERT_NO_FATAL_FAILURE(open_headless());
    const vae::Latents clip = small_clip(6);
    const auto model = small_model(*accelerator_);
    std::vector<const std::byte*> places;
    auto source = StepLoop::create(bridge(), model, kSize, {.make = [&]() -> Result<std::shared_ptr<LatentFeed>> {
                                       auto queue = std::make_shared<NotingQueue>(*model, places);
                                       latents_ = queue;
                                       return std::shared_ptr<LatentFeed>(std::move(queue));
                                   }},
                                   {.storage = FrameRingDesc::Storage::Host, .slots = 8});
    ASSERT_TRUE(source) << source.error().message;
    stream_ = std::move(*source);
    expected_ = testing::expected_frames(*small_decoder(*accelerator_), clip);
    for (std::int64_t t = 0; t < 6; ++t) {
        ASSERT_TRUE(*latents_->push(clip.frame(t), kLong)) << t;
        ASSERT_NO_FATAL_FAILURE(expect_frames(t == 0 ? 0 : 4 * t - 3, 4 * t + 1));
    }
    stream_.reset();
    ASSERT_EQ(places.size(), 6U);
    for (std::size_t i = 2; i < places.size(); ++i)
        EXPECT_TRUE(places[i] != places[i - 1] && places[i] != places[i - 2]) << i;
}

TEST_P(HeadlessStreams, TakeASecondClipOfOneLatentFrameAfterARestart) {
    ASSERT_NO_FATAL_FAILURE(open_headless());
    const auto checkpoint = vae::Checkpoint::open("synthetic:qwen-image,dim=2");
    ASSERT_TRUE(checkpoint) << checkpoint.error().message;
    const auto model = vae::Model::create(*accelerator_, *checkpoint, {.precision = vae::Precision::Fp32});
    ASSERT_TRUE(model) << model.error().message;
    auto source = StepLoop::of_pushed(bridge(), *model, kSize, {.storage = FrameRingDesc::Storage::Host});
    ASSERT_TRUE(source) << source.error().message;
    const std::vector<float> latent = small_clip(1).frame(0);
    for (int clip = 0; clip < 3; ++clip) {
        ASSERT_TRUE(source->latents->push(latent, kLong)) << clip;
        const auto second = source->latents->push(latent, kLong);
        ASSERT_FALSE(second);
        EXPECT_EQ(second.error().message, "a clip of this decoder is one latent frame: a reset begins the next one");
        const auto record = source->frames->take(kLong);
        ASSERT_TRUE(record && *record) << clip;
        ASSERT_TRUE(source->frames->release(**record, {}));
        source->frames->restart();
    }
}

TEST_P(HeadlessStreams, TellAWatchdogWhatTheyWaitForAndCloseOnceItHasCome) {
    ASSERT_NO_FATAL_FAILURE(open_headless());
    ASSERT_NO_FATAL_FAILURE(start_pushed({.storage = FrameRingDesc::Storage::Host}));
    EXPECT_EQ(stream_->health().unmoved, Nanoseconds{});
    const std::vector<float> values = small_clip(1).frame(0);
    const auto memory = accelerator_->allocate("latent", values.size() * sizeof(float)).value();
    std::memcpy(memory->host_data(), values.data(), values.size() * sizeof(float));
    const auto written = std::make_shared<graph::HostTimeline>("the generator");
    ASSERT_TRUE(*latents_->push({memory->data(), memory->bytes(), {VK_NULL_HANDLE, written, 1}}, kLong));
    static_cast<void>(stream_->health());
    SourceHealth health;
    for (int i = 0; i < 3000 && health.unmoved < std::chrono::milliseconds(20); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        health = stream_->health();
    }
    EXPECT_GE(health.unmoved, std::chrono::milliseconds(20));
    EXPECT_NE(graph::describe(health.lanes).find("waits for value 1 of a timeline of the application's, which is at 0"),
              std::string::npos)
        << graph::describe(health.lanes);
    EXPECT_FALSE(stream_->close({}));
    EXPECT_EQ(stream_->take(kLong).error().code, ErrorCode::Cancelled);
    written->signal(1);
    EXPECT_TRUE(stream_->close(kLong));
    EXPECT_EQ(stream_->health().unmoved, Nanoseconds{});
    stream_->restart();
    EXPECT_EQ(stream_->take(kLong).error().code, ErrorCode::Cancelled) << "for good";
}

TEST_P(HeadlessStreams, TakeAsManyLatentsAtOnceAsTheirSlotsHoldFramesOf) {
    ASSERT_NO_FATAL_FAILURE(open_headless());
    const vae::Latents clip = small_clip(6);
    expected_ = testing::expected_frames(*small_decoder(*accelerator_), clip);
    ASSERT_NO_FATAL_FAILURE(start_pushed({.storage = FrameRingDesc::Storage::Host, .slots = 21}));
    EXPECT_EQ(latents_->capacity(), 6U);
    const auto gate = std::make_shared<graph::HostTimeline>("the generator");
    const std::vector<float> first = clip.frame(0);
    const auto memory = accelerator_->allocate("latent", first.size() * sizeof(float)).value();
    std::memcpy(memory->host_data(), first.data(), first.size() * sizeof(float));
    ASSERT_TRUE(*latents_->push({memory->data(), memory->bytes(), {VK_NULL_HANDLE, gate, 1}}, {}));
    for (std::int64_t t = 1; t < 6; ++t) ASSERT_TRUE(*latents_->push(clip.frame(t), {})) << t;
    EXPECT_FALSE(*stream_->try_take()) << "nothing is decoded yet";
    gate->signal(1);
    ASSERT_NO_FATAL_FAILURE(expect_frames(0, 21));
}

/// Steps from before a restart may wait for latents that never come.
TEST_P(HeadlessStreams, TakeLatentsWhileAStepFromBeforeARestartRunsAndDecodeThemAfterIt) {
    const interop::testing::Watchdog watchdog("a push after a restart", std::chrono::seconds(60));
    ASSERT_NO_FATAL_FAILURE(open_headless());
    const vae::Latents clip = small_clip(1);
    expected_ = testing::expected_frames(*small_decoder(*accelerator_), clip);
    ASSERT_NO_FATAL_FAILURE(start_pushed({.storage = FrameRingDesc::Storage::Host, .slots = 12}));
    const std::vector<float> values = clip.frame(0);
    const auto memory = accelerator_->allocate("latent", values.size() * sizeof(float)).value();
    std::memcpy(memory->host_data(), values.data(), values.size() * sizeof(float));
    const auto written = std::make_shared<graph::HostTimeline>("the generator");
    ASSERT_TRUE(*latents_->push({memory->data(), memory->bytes(), {VK_NULL_HANDLE, written, 1}}, kLong));
    while (stream_->stats().times.steps == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    stream_->restart();
    for (std::size_t i = 0; i < latents_->capacity(); ++i) ASSERT_TRUE(*latents_->push(values, {})) << i;
    EXPECT_FALSE(*latents_->push(values, std::chrono::milliseconds(30)));
    auto waiting = std::async(std::launch::async, [&] { return latents_->push(values, kLong); });
    stream_->cancel();
    const auto cancelled = waiting.get();
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().code, ErrorCode::Cancelled);
    stream_->restart();
    ASSERT_TRUE(*latents_->push(values, {}));
    EXPECT_FALSE(*stream_->take(std::chrono::milliseconds(20)));
    written->signal(1);
    ASSERT_NO_FATAL_FAILURE(expect_frames(0, 1));
    EXPECT_FALSE(*stream_->take(std::chrono::milliseconds(20))) << "latents from before the restart";
}

TEST_P(HeadlessStreams, CloseWhileTheyDecodeAClip) {
    ASSERT_NO_FATAL_FAILURE(open_headless());
    ASSERT_NO_FATAL_FAILURE(start(small_clip(6), {.slots = 5, .loop = true}));
    ASSERT_NO_FATAL_FAILURE(expect_frames(0, 1));
    EXPECT_TRUE(stream_->close(kLong));
    EXPECT_EQ(stream_->take(kLong).error().code, ErrorCode::Cancelled);
}

TEST_P(HeadlessStreams, HandOutFloatsAndFlagThoseOfStepsThatOverflow) {
    ASSERT_NO_FATAL_FAILURE(open_headless());
    vae::Latents clip = small_clip(2);
    for (std::size_t c = 0; c < 16; ++c) clip.values[4 * c + 2] = clip.values[4 * c + 3] = 3.3e38F;  // latent frame 1
    for (const auto format : {vae::FrameFormat::Float32, vae::FrameFormat::Rgba8}) {
        ASSERT_NO_FATAL_FAILURE(start(clip, {.storage = FrameRingDesc::Storage::Host, .format = format}));
        const auto decoder = small_decoder(*accelerator_);
        const auto first = take();
        ASSERT_TRUE(first && *first);
        EXPECT_TRUE((*first)->is_finite);
        if (format == vae::FrameFormat::Float32) {
            const auto wanted = decoder->step(clip.frame(0));
            const std::span<const float> picture = wanted->pictures.front();
            ASSERT_EQ((*first)->host.size(), picture.size_bytes());
            EXPECT_EQ(std::memcmp((*first)->host.data(), picture.data(), picture.size_bytes()), 0);
        }
        ASSERT_TRUE(stream_->release(**first));
        for (int i = 1; i < 5; ++i) {
            const auto frame = take();
            ASSERT_TRUE(frame && *frame);
            EXPECT_FALSE((*frame)->is_finite) << i;
            ASSERT_TRUE(stream_->release(**frame));
        }
    }
}

TEST_P(HeadlessStreams, HandOutTheAcceleratorsOwnMemoryAndTimeline) {
    ASSERT_NO_FATAL_FAILURE(open_headless());
    ASSERT_NO_FATAL_FAILURE(start(small_clip(6), {.storage = FrameRingDesc::Storage::Buffer}));
    for (int i = 0; i < 21; ++i) {
        const auto record = take();
        ASSERT_NO_FATAL_FAILURE(expect_frame(record, i));
        EXPECT_EQ((*record)->image, nullptr);
        EXPECT_NE((*record)->ready.timeline, nullptr);
        ASSERT_TRUE(stream_->release(**record, {}));
    }
}

TEST_P(HeadlessStreams, TakeARateBeforeTheClipsOwn) {
    ASSERT_NO_FATAL_FAILURE(open_headless());
    ASSERT_NO_FATAL_FAILURE(start(small_clip(6), {.fps = 50.0}));
    EXPECT_EQ(stream_->facts().fps, 50.0);
    for (int i = 0; i < 5; ++i) {
        const auto record = take();
        ASSERT_NO_FATAL_FAILURE(expect_frame(record, i));
        EXPECT_EQ((*record)->label.presentation_time, i * std::chrono::milliseconds(20));
        ASSERT_TRUE(stream_->release(**record));
    }
}

TEST_P(HeadlessStreams, RefuseAClipWithFewerValuesThanItSays) {
    ASSERT_NO_FATAL_FAILURE(open_headless());
    vae::Latents large = small_clip(1);
    large.width = 3;
    const auto stream = StepLoop::of_clip(bridge(), small_model(*accelerator_), large);
    ASSERT_FALSE(stream);
    EXPECT_EQ(stream.error().message, "clip: 32 values are not 1 latent frames of 16x1x3");
}

TEST_P(HeadlessStreams, RefuseFewerSlotsThanAStepAndAReaderNeed) {
    ASSERT_NO_FATAL_FAILURE(open_headless());
    const auto stream = StepLoop::of_clip(bridge(), small_model(*accelerator_), small_clip(1), {.slots = 4});
    ASSERT_FALSE(stream);
    EXPECT_EQ(stream.error().message, "a ring of 4 frames: a step makes 4 at once, and a reader holds at least one");
}

INSTANTIATE_TEST_SUITE_P(Cpu, HeadlessStreams, ::testing::Values(Case{}), [](const auto&) { return "Buffers"; });

class StreamsOnALostDisplay : public Streams {
  protected:
    void TearDown() override {
        Streams::TearDown();
        vulkan::testing::faults().reset();
    }
};

/// No step asks the device any more: the frames that wait for it fill the ring.
TEST_P(StreamsOnALostDisplay, TellAReaderThatOnlyLooks) {
    validation_ = vulkan::Validation::Off;  // its state machine does not know devices that are lost
    kind_ = "cpu";
    ASSERT_NO_FATAL_FAILURE(open(GetParam().pairing));
    if (IsSkipped()) return;
    ASSERT_NO_FATAL_FAILURE(start_pushed({.storage = GetParam().storage, .slots = 5}));
    ASSERT_TRUE(*latents_->push(small_clip(1).frame(0), kLong));
    vulkan::testing::faults().device_lost = true;
    auto lost = stream_->try_take();
    if (lost && *lost) {  // decoded before the loss, which the next one meets
        ASSERT_TRUE(stream_->release(**lost));
        static_cast<void>(latents_->push(small_clip(1).frame(0), kLong));
        lost = stream_->try_take();
    }
    ASSERT_FALSE(lost) << (*lost ? "a frame" : "nothing");
    EXPECT_EQ(lost.error().code, ErrorCode::DeviceLost) << lost.error().message;
}

INSTANTIATE_TEST_SUITE_P(Images, StreamsOnALostDisplay,
                         ::testing::Values(Case{FrameRingDesc::Storage::Image, interop::testing::kSharedTimelines}),
                         [](const auto& chosen) { return testing::name_of(chosen.param); });

}  // namespace
}  // namespace kinetograph::stream
