// One step a call, on latents that lie with the accelerator, driven by the test's own thread.
#include "stream_fixture.hpp"

#include <kinetograph/compute/stream/stepper.hpp>
#include <kinetograph/engine/profile/graph_waits.hpp>

#include <algorithm>
#include <numeric>
#include <thread>

namespace kinetograph::stream {
namespace {

using testing::Case;
using testing::FrameRecord;
using testing::small_clip;
using testing::small_decoder;
using testing::small_model;

constexpr std::uint64_t kLatentBytes = 16 * testing::kHeight * testing::kWidth * sizeof(float);

constexpr Nanoseconds kSlotWait = std::chrono::seconds(60);  // for slots that come, however loaded the machine is

class Steppers : public testing::StreamTest, public ::testing::WithParamInterface<Case> {
  protected:
    void set_up() {
        ASSERT_NO_FATAL_FAILURE(open_case(GetParam()));
        if (IsSkipped()) return;
        clip_ = small_clip(6);
        expected_ = testing::expected_frames(*small_decoder(*accelerator_), clip_);
        latents_ = accelerator_->allocate("latents of the test", 6 * kLatentBytes).value();
        stream_ = accelerator_->create_stream("who makes latents").value();
        for (std::int64_t t = 0; t < 6; ++t) write(t, clip_.frame(t));
        auto decoder = Stepper::create(
            *bridge_, small_model(*accelerator_), {testing::kHeight, testing::kWidth},
            {.storage = GetParam().storage, .slots = 8, .copies = vae::Copies::Ahead, .recorder = &recorder_});
        ASSERT_TRUE(decoder) << decoder.error().message;
        decoder_ = std::move(*decoder);
    }
    void release() override {
        decoder_.reset();
        stream_.reset();
        latents_.reset();
        StreamTest::release();
    }
    void write(std::int64_t t, const std::vector<float>& values) {
        ASSERT_TRUE(stream_->upload(at(t), std::as_bytes(std::span(values))));
    }
    std::byte* at(std::int64_t t) const { return latents_->data() + static_cast<std::uint64_t>(t) * kLatentBytes; }
    Stepped step(std::int64_t t, const interop::TimelinePoint& ready = {}, Nanoseconds patience = kSlotWait) {
        const auto stepped = decoder_->step({at(t), kLatentBytes, ready}, patience);
        EXPECT_TRUE(stepped) << stepped.error().message;
        return stepped ? *stepped : Stepped::NoSlots;
    }
    FrameRecord take() {
        const auto record = decoder_->ring().try_take();
        EXPECT_TRUE(record);
        return record.value_or(FrameRecord{});
    }
    /// A step for which there are no slots, and none come.
    Stepped step_in_vain(std::int64_t t) { return step(t, {}, std::chrono::milliseconds(20)); }
    void give_back(const FrameRecord& record) { ASSERT_TRUE(decoder_->ring().release(record, {})); }

    profile::Recorder recorder_;
    vae::Latents clip_;
    std::vector<std::vector<std::uint8_t>> expected_;
    std::unique_ptr<accel::Memory> latents_;
    std::unique_ptr<accel::Stream> stream_;
    std::unique_ptr<Stepper> decoder_;
};

TEST_P(Steppers, HandAStepsFramesOutAtOnceAndSayWhenReadersHoldTooMany) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    ASSERT_EQ(step(0), Stepped::Enqueued);
    EXPECT_EQ(decoder_->ring().stats().waiting, 1U);
    ASSERT_EQ(step(1), Stepped::Enqueued);
    EXPECT_EQ(decoder_->ring().stats().waiting, 5U);
    EXPECT_EQ(step_in_vain(2), Stepped::NoSlots);  // eight slots, five frames
    std::vector<FrameRecord> held;
    for (int i = 0; i < 5; ++i) held.push_back(take());
    EXPECT_EQ(step_in_vain(2), Stepped::NoSlots);
    give_back(held.front());
    EXPECT_EQ(step(2), Stepped::Enqueued);
    for (std::size_t i = 1; i < 5; ++i) EXPECT_EQ(read(held[i]), expected_[i]);
    for (std::size_t i = 5; i < 9; ++i) EXPECT_EQ(read(take()), expected_[i]);
}

TEST_P(Steppers, TakeAsManyLatentFramesAStepAsTheyWereMadeFor) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    decoder_.reset();
    const auto create = [&](std::int64_t latent_frames) {
        return Stepper::create(
            *bridge_, small_model(*accelerator_), {testing::kHeight, testing::kWidth},
            {.storage = GetParam().storage, .slots = 16, .latent_frames = latent_frames, .copies = vae::Copies::Ahead});
    };
    const auto is_refused = [](const auto& made) { return !made && made.error().code == ErrorCode::InvalidArgument; };
    EXPECT_TRUE(is_refused(create(0)));
    EXPECT_TRUE(is_refused(create(4))) << "16 frames of a step, and one that is held";
    auto decoder = create(3);
    ASSERT_TRUE(decoder) << decoder.error().message;
    decoder_ = std::move(*decoder);
    std::int64_t next = 0;
    const auto step_of = [&](std::int64_t count) -> Result<void> {
        KG_TRY(const Stepped stepped,
               decoder_->step({.address = at(next), .bytes = 3 * kLatentBytes, .count = count}, kSlotWait));
        EXPECT_EQ(stepped, Stepped::Enqueued);
        next += count;
        return {};
    };
    std::size_t frame = 0;
    for (const std::int64_t count : {1, 3, 2}) {
        for (const std::int64_t wrong : {-1, 0, 4}) EXPECT_TRUE(is_refused(step_of(wrong))) << wrong;
        const auto stepped = step_of(count);
        ASSERT_TRUE(stepped) << stepped.error().message;
        for (const std::size_t end = frame + (count == 1 ? 1 : 4 * static_cast<std::size_t>(count)); frame < end;
             ++frame) {
            const FrameRecord record = take();
            EXPECT_EQ(record.label.index, static_cast<std::int64_t>(frame));
            EXPECT_EQ(read(record), expected_[frame]) << frame;
            give_back(record);
        }
    }
}

TEST_P(Steppers, WaitForTheLatentsOnTheDevice) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    const auto made = accelerator_->create_timeline().value();
    write(0, std::vector<float>(kLatentBytes / sizeof(float), 0.5F));  // not yet what is to be decoded
    ASSERT_EQ(step(0, {VK_NULL_HANDLE, made, 7}), Stepped::Enqueued);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(decoder_->ring().try_take_ready());
    write(0, clip_.frame(0));
    stream_->signal(made, 7);
    const FrameRecord record = take();
    EXPECT_EQ(read(record), expected_[0]);
}

TEST_P(Steppers, AWaitForStepsThatDoNotMoveEndsWithTheStatesOfTheLanes) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    const auto made = std::make_shared<graph::HostTimeline>("the generator");
    ASSERT_EQ(step(0, {VK_NULL_HANDLE, made, 7}), Stepped::Enqueued);
    const auto stood = decoder_->wait_for_steps(std::chrono::seconds(1));
    made->signal(7);
    ASSERT_FALSE(stood);
    EXPECT_EQ(stood.error().code, ErrorCode::DeviceLost);
    EXPECT_EQ(
        stood.error().message.find("waiting for the decoder: nothing has moved for 1 s:\nlane accelerator: submitted "),
        0U)
        << stood.error().message;
    EXPECT_NE(stood.error().message.find("waits for value 7 of a timeline of the application's, which is at 0"),
              std::string::npos)
        << stood.error().message;
    const auto done = decoder_->wait_for_steps();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(read(take()), expected_[0]);
}

TEST_P(Steppers, AFrameIsReadyOnceItIsDecoded) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    EXPECT_FALSE(decoder_->ring().try_take_ready());
    ASSERT_EQ(step(0), Stepped::Enqueued);
    std::optional<FrameRecord> record;
    for (const Nanoseconds begin = host_now(); !record && host_now() - begin < std::chrono::seconds(10);)
        record = decoder_->ring().try_take_ready();
    ASSERT_TRUE(record);
    EXPECT_TRUE(bridge_->has_reached(record->ready));
}

TEST_P(Steppers, AFrameNamesTheStepThatMadeItForWhichItsCopyHasWaited) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    decoder_.reset();
    auto decoder = Stepper::create(
        *bridge_, small_model(*accelerator_), {testing::kHeight, testing::kWidth},
        {.storage = GetParam().storage, .slots = 8, .copies = vae::Copies::Ahead, .recorder = &recorder_});
    ASSERT_TRUE(decoder) << decoder.error().message;
    decoder_ = std::move(*decoder);
    ASSERT_EQ(step(0), Stepped::Enqueued);
    ASSERT_EQ(step(1), Stepped::Enqueued);
    const FrameRecord first = take(), second = take();
    for (const FrameRecord& record : {first, second}) read(record);
    ASSERT_TRUE(decoder_->wait_for_steps());
    decoder_->collect();
    EXPECT_NE(first.label.made_by, second.label.made_by);
    const auto spans = recorder_.spans();
    std::vector<profile::PointRecord> points;
    profile::RingCursor cursor;
    recorder_.read(cursor, points);
    profile::GraphWaits waits;
    for (const profile::PointRecord& point : points) waits.add(point);
    for (const FrameRecord& record : {first, second}) {
        const profile::StepKey made_by = record.label.made_by;
        EXPECT_TRUE(std::ranges::any_of(spans, [&](const profile::Span& span) {
            return span.plan == made_by.plan && span.execution == made_by.execution && span.track == "accelerator";
        }));
        if (GetParam().storage != interop::FrameStorage::Image) continue;
        EXPECT_TRUE(std::ranges::any_of(waits.all(), [&](const profile::GraphWait& wait) {
            return wait.from == made_by && wait.step.plan != made_by.plan;
        })) << "its copy is a graph of its own";
    }
}

TEST_P(Steppers, AnotherClipBeginsWithOneFrameInANewGeneration) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    ASSERT_EQ(step(0), Stepped::Enqueued);
    ASSERT_EQ(step(1), Stepped::Enqueued);
    const std::uint64_t generation = decoder_->ring().restart();
    EXPECT_EQ(step(2), Stepped::Outdated);
    ASSERT_TRUE(decoder_->begin_clip(generation));
    ASSERT_EQ(step(0), Stepped::Enqueued);
    const FrameRecord record = take();
    EXPECT_EQ(record.label.index, 0);
    EXPECT_EQ(record.generation, generation);
    EXPECT_EQ(read(record), expected_[0]);
}

TEST_P(Steppers, LatentsThatAreTooFewAreRefusedAndTheSlotsGoBack) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    const auto refused = decoder_->step({at(0), kLatentBytes - 4, {}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "import \"latents\" is declared with 128 bytes, but its storage has 124");
    EXPECT_EQ(decoder_->ring().stats().free, 8U);
    ASSERT_EQ(step(0), Stepped::Enqueued);
    EXPECT_EQ(read(take()), expected_[0]);
}

/// Steps followed by the reading of two frames, as an application makes them.
TEST_P(Steppers, ASteadyStateAsksNeitherDriverForAnythingAndNeverWaits) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    auto& faults = vulkan::testing::faults();
    std::vector<FrameRecord> held;
    const auto read_all = [&] {
        while (const auto record = decoder_->ring().try_take()) held.push_back(*record);
        for (const FrameRecord& record : held) {
            ASSERT_TRUE(bridge_->wait(record.ready));
            give_back(record);
        }
        held.clear();
    };
    const auto run = [&](int steps, bool watched) {
        for (int i = 0; i < steps; ++i) {
            if (watched) faults.watched = std::this_thread::get_id();
            EXPECT_EQ(step(i % 6), Stepped::Enqueued);
            faults.watched = std::thread::id{};
            ASSERT_NO_FATAL_FAILURE(read_all());
        }
    };
    // Two steps in flight, as many as the slots allow: pools are as large afterwards as they will ever be.
    const auto gate = accelerator_->create_timeline().value();
    ASSERT_NO_FATAL_FAILURE(run(1, false));
    for (int i = 0; i < 2; ++i) EXPECT_EQ(step(i, {VK_NULL_HANDLE, gate, 1}), Stepped::Enqueued);
    stream_->signal(gate, 1);
    ASSERT_NO_FATAL_FAILURE(read_all());
    ASSERT_NO_FATAL_FAILURE(run(24, false));
    faults.allocations = faults.objects = faults.waits = 0;
    calls_.allocations = 0;
    ASSERT_NO_FATAL_FAILURE(run(40, true));
    EXPECT_EQ(calls_.allocations.load(), 0);
    EXPECT_EQ(faults.allocations.load(), 0);
    EXPECT_EQ(faults.objects.load(), 0);
    EXPECT_EQ(faults.waits.load(), 0);
}

TEST_P(Steppers, OnlyTheTwoEndsOfAStepAreApartFromWhatIsReplayed) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    for (const std::int64_t t : {0, 1}) {
        ASSERT_EQ(step(t), Stepped::Enqueued);
        const graph::Plan& plan = *decoder_->runner().executor().plan();
        std::string batches;
        for (const graph::Batch& batch : plan.batches)
            batches += fmt::format("{}{} {}", batches.empty() ? "" : ", ", graph::to_string(batch.lane),
                                   plan.passes[batch.passes.front()].name);
        EXPECT_EQ(batches, "accelerator unpack_latents, accelerator decoder.conv1, accelerator write_frames");
    }
}

TEST_P(Steppers, StepsTakeTheMemoryThatWasStatedBeforeThem) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    const std::uint64_t before = accelerator_->bytes_allocated();
    const std::size_t arena = graph::MemoryDomain::Accelerator.index();
    std::uint64_t largest = 0;
    for (const std::int64_t t : {0, 1}) {
        const auto planned = decoder_->clip().plans().plan_of({.first = t == 0});
        ASSERT_TRUE(planned);
        ASSERT_EQ(step(t), Stepped::Enqueued);
        const std::uint64_t compiled = decoder_->runner().executor().plan()->arena_bytes[arena];
        EXPECT_EQ(compiled, (*planned)->arena_bytes[arena]) << "step " << t;
        largest = std::max(largest, compiled);
    }
    EXPECT_EQ(vae::whole_pages(largest), decoder_->clip().memory().transients);
    EXPECT_EQ(accelerator_->bytes_allocated(), before);
}

/// The same on a GPU, ten thousand times: cuda_stream_test.
TEST_P(Steppers, HundredsOfStepsNeitherGrowNorDrift) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    constexpr std::uint64_t kSteps = 60;
#else
    constexpr std::uint64_t kSteps = 600;
#endif
    std::optional<interop::TimelinePoint> last;
    std::uint64_t stride = 0;
    const auto run = [&](std::uint64_t steps) {
        for (std::uint64_t i = 0; i < steps; ++i) {
            Result<Stepped> stepped =
                decoder_->step({at(static_cast<std::int64_t>(i % 6)), kLatentBytes, {}}, kSlotWait);
            ASSERT_TRUE(stepped && *stepped == Stepped::Enqueued);
            while (const auto record = decoder_->ring().try_take()) {
                if (last && record->ready.value != last->value) {
                    if (stride == 0) stride = record->ready.value - last->value;
                    ASSERT_EQ(record->ready.value - last->value, stride);
                }
                last = record->ready;
                // After the frame itself: steps run ahead of the accelerator, as far as there are slots.
                ASSERT_TRUE(decoder_->ring().release(*record, record->ready));
            }
        }
        ASSERT_TRUE(bridge_->wait(*last));
    };
    ASSERT_NO_FATAL_FAILURE(run(1));
    last.reset();
    ASSERT_NO_FATAL_FAILURE(run(40));
    const auto accelerator = accelerator_->bytes_allocated(), vulkan = display_->memory().bytes_held();
    ASSERT_NO_FATAL_FAILURE(run(kSteps));
    EXPECT_EQ(accelerator_->bytes_allocated(), accelerator);
    EXPECT_EQ(display_->memory().bytes_held(), vulkan);
    EXPECT_TRUE(bridge_->has_reached(*last));
    EXPECT_FALSE(bridge_->has_reached({last->semaphore, last->timeline, last->value + 1}));
    EXPECT_EQ(decoder_->times().steps, 41 + kSteps);
}

TEST_P(Steppers, TheHostsWorkOnAStepIsASpan) {
    ASSERT_NO_FATAL_FAILURE(set_up());
    if (IsSkipped()) return;
    ASSERT_EQ(step(0), Stepped::Enqueued);
    read(take());
    const auto spans = recorder_.spans();
    const auto host = std::find_if(spans.begin(), spans.end(), [](const auto& span) { return span.track == "host"; });
    ASSERT_NE(host, spans.end());
    EXPECT_EQ(host->name, "enqueue a step");
    EXPECT_LT(host->begin, host->end);
}

INSTANTIATE_TEST_SUITE_P(Cases, Steppers, ::testing::ValuesIn(testing::all_cases()),
                         [](const auto& chosen) { return testing::name_of(chosen.param); });

}  // namespace
}  // namespace kinetograph::stream
