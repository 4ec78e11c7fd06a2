#include <kinetograph/engine/profile/graph_waits.hpp>
#include <kinetograph/engine/profile/profile.hpp>

#include <kinetograph/engine/graph/executor.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace kinetograph::profile {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

PlanFacts one_batch(NameTable& names, const char* track, std::initializer_list<const char*> passes) {
    PlanFacts plan;
    for (const char* pass : passes)
        plan.passes.push_back({.name = names.intern(pass), .track = names.intern(track), .batch = 0});
    plan.batches = {{.track = names.intern(track),
                     .first_pass = 0,
                     .last_pass = static_cast<std::uint32_t>(plan.passes.size() - 1)}};
    plan.batches_told = 1;
    return plan;
}

/// A decoder's graph and a display's, which waits for it.
class TwoGraphs : public ::testing::Test {
  protected:
    void signal(StepKey step, std::uint64_t counter, std::uint64_t value) {
        recorder_.note({.counter = counter, .value = value, .step = step, .batch = 0, .signals = true});
    }
    void wait(StepKey step, std::uint64_t counter, std::uint64_t value) {
        recorder_.note({.counter = counter, .value = value, .step = step, .batch = 0});
    }
    void span(const char* name, const char* track, StepKey step, int begin, int end) {
        recorder_.add(Span{name, track, milliseconds(begin), milliseconds(end), step.execution, step.plan});
    }
    /// Steps 7 of both, one after the other, after a picture that the display drew before.
    void run() {
        signal(decoding_, 3, 12);
        wait(drawing_, 3, 12);
        span("picture", "graphics", {display_, 6}, 2, 5);
        span("conv_in", "accelerator", decoding_, 0, 10);
        span("conv_out", "accelerator", decoding_, 10, 20);
        span("picture", "graphics", drawing_, 21, 24);
        profile_.update(milliseconds(30));
    }

    Recorder recorder_;
    PlanId decoder_ = recorder_.plans().add(one_batch(recorder_.names(), "accelerator", {"conv_in", "conv_out"}));
    PlanId display_ = recorder_.plans().add(one_batch(recorder_.names(), "graphics", {"picture"}));
    StepKey decoding_{decoder_, 7}, drawing_{display_, 7};
    Profile profile_{recorder_};
};

TEST_F(TwoGraphs, AHandOverGoesFromTheOneToTheOther) {
    run();
    const Step* drawn = profile_.find(drawing_);
    ASSERT_NE(drawn, nullptr);
    const auto others = profile_.surroundings(*drawn).from_others;
    ASSERT_EQ(others.size(), 1U);
    EXPECT_EQ(profile_.text(others[0].from.name), "conv_out");
    EXPECT_EQ(others[0].from.execution, 7U);
    EXPECT_EQ(profile_.text(drawn->spans[others[0].to].name), "picture");
    EXPECT_EQ(others[0].took, milliseconds(1));
    EXPECT_TRUE(profile_.surroundings(*profile_.find(decoding_)).from_others.empty());
}

TEST_F(TwoGraphs, AWaitWithinALaneIsNoHandOver) {
    signal({display_, 6}, 4, 1);
    wait(drawing_, 4, 1);
    run();
    EXPECT_EQ(profile_.surroundings(*profile_.find(drawing_)).from_others.size(), 1U) << "the decoder's alone";
}

TEST_F(TwoGraphs, TheTimeBeforeNamesTheStepAndThePassThatItWaitsFor) {
    run();
    const Step* drawn = profile_.find(drawing_);
    const auto gaps =
        idle_gaps(*drawn, *profile_.plan(display_), recorder_.names(), microseconds(1), profile_.surroundings(*drawn));
    ASSERT_EQ(gaps.size(), 1U);
    EXPECT_EQ(gaps[0].begin, milliseconds(5)) << "when the picture before was done";
    EXPECT_EQ(gaps[0].end, milliseconds(21));
    EXPECT_EQ(gaps[0].reason, fmt::format("waiting for step 7 of plan {}: conv_out (accelerator)", decoder_));
    EXPECT_TRUE(idle_gaps(*drawn, *profile_.plan(display_), recorder_.names(), microseconds(1)).empty());
}

TEST_F(TwoGraphs, WhatWasDoneBeforeTheLaneWasFreeIsNoReasonToWait) {
    signal(decoding_, 3, 12);
    wait(drawing_, 3, 12);
    span("conv_in", "accelerator", decoding_, 0, 1);
    span("conv_out", "accelerator", decoding_, 1, 2);
    span("picture", "graphics", {display_, 6}, 2, 5);
    span("picture", "graphics", drawing_, 21, 24);
    profile_.update(milliseconds(30));
    const Step* drawn = profile_.find(drawing_);
    EXPECT_EQ(profile_.surroundings(*drawn).from_others.size(), 1U);
    EXPECT_TRUE(
        idle_gaps(*drawn, *profile_.plan(display_), recorder_.names(), microseconds(1), profile_.surroundings(*drawn))
            .empty());
}

TEST_F(TwoGraphs, AStepWhosePassesWereNotTimedHandsOverByTheSpanOfItsBatch) {
    signal(decoding_, 3, 12);
    wait(drawing_, 3, 12);
    span("2 passes from conv_in to conv_out", "accelerator", decoding_, 0, 20);
    span("picture", "graphics", drawing_, 21, 24);
    profile_.update(milliseconds(30));
    const auto others = profile_.surroundings(*profile_.find(drawing_)).from_others;
    ASSERT_EQ(others.size(), 1U);
    EXPECT_EQ(others[0].from.end, milliseconds(20));
}

TEST_F(TwoGraphs, AKeptStepKeepsWhatItWaitedFor) {
    profile_.set_spike_threshold({.fixed = milliseconds(2), .median = 0.0});
    signal({decoder_, 6}, 3, 11);
    wait({display_, 6}, 3, 11);
    run();
    ASSERT_FALSE(profile_.spikes().empty());
    const Spike& spike = profile_.spikes().back();
    ASSERT_EQ(spike.step.key(), drawing_);
    ASSERT_EQ(spike.around.from_others.size(), 1U);
    EXPECT_EQ(spike.around.free_since.front().time, milliseconds(5));
}

TEST(GraphWaits, AStepDoesNotWaitForItselfAndEachWaitCountsOnce) {
    GraphWaits waits;
    const StepKey decoding{1, 4}, drawing{2, 9};
    for (const std::uint64_t counter : {3, 5})  // two views of one counter
        waits.add({.counter = counter, .value = 8, .step = decoding, .batch = 2, .signals = true});
    for (const std::uint64_t counter : {3, 5}) waits.add({.counter = counter, .value = 8, .step = drawing, .batch = 1});
    waits.add({.counter = 3, .value = 8, .step = decoding, .batch = 3});
    waits.add({.counter = 3, .value = 9, .step = drawing, .batch = 1});  // never signalled
    EXPECT_EQ(waits.of(drawing), (std::vector<GraphWait>{{drawing, 1, decoding, 2}}));
    EXPECT_TRUE(waits.of(decoding).empty());
    EXPECT_EQ(waits.all().size(), 1U);
}

TEST(GraphWaits, ForgetsTheOldestPoints) {
    GraphWaits waits;
    const auto add = [&](std::uint64_t step) {
        waits.add({.counter = 1, .value = step, .step = {1, step}, .batch = 0, .signals = true});
        waits.add({.counter = 1, .value = step, .step = {2, step}, .batch = 0});
    };
    for (std::uint64_t step = 1; step <= GraphWaits::kMost + 2; ++step) add(step);
    EXPECT_TRUE(waits.of({2, 2}).empty());
    EXPECT_EQ(waits.of({2, 3}).size(), 1U);
    EXPECT_EQ(waits.all().size(), GraphWaits::kMost);
    waits.make_room(2 * GraphWaits::kMost);
    waits.make_room(1);
    for (std::uint64_t step = 1; step <= GraphWaits::kMost + 2; ++step) add(GraphWaits::kMost + 2 + step);
    EXPECT_EQ(waits.all().size(), 2 * GraphWaits::kMost);
}

TEST_F(TwoGraphs, AStepThatIsReadWithManyLaterOnesKeepsWhatItWaitedFor) {
    profile_.set_spike_threshold({.fixed = milliseconds(40), .median = 0.0});
    span("picture", "graphics", {display_, 1}, 0, 1);
    signal({decoder_, 2}, 3, 1);
    wait({display_, 2}, 3, 1);
    span("conv_in", "accelerator", {decoder_, 2}, 2, 3);
    span("conv_out", "accelerator", {decoder_, 2}, 3, 4);
    span("picture", "graphics", {display_, 2}, 5, 55);
    for (std::uint64_t i = 3; i < GraphWaits::kMost + 100; ++i) {
        signal({decoder_, i}, 3, i);
        wait({display_, i}, 3, i);
    }
    profile_.update(milliseconds(100));
    ASSERT_EQ(profile_.spikes().size(), 1U);
    EXPECT_EQ(profile_.spikes().front().around.from_others.size(), 1U);
}

/// Takes no work: the executor's batches are told to a recorder.
class TellingLane final : public graph::LaneBackend {
  public:
    TellingLane(graph::Lane lane, Recorder& recorder) : lane_(lane), recorder_(recorder) {}
    graph::Lane lane() const override { return lane_; }
    Result<void> submit(const graph::BatchRecord& record) override {
        plan = recorder_.note(record, *timeline_, track_.name());
        timeline_->signal(record.signal);
        return {};
    }
    using LaneBackend::wait;
    Result<bool> wait(std::uint64_t, Nanoseconds) override { return true; }
    std::shared_ptr<graph::Timeline> timeline() const override { return timeline_; }

    PlanId plan = kNoPlan;

  private:
    graph::Lane lane_;
    Recorder& recorder_;
    LaneTrack track_ = recorder_.open_track(to_string(lane_), "a device");
    std::shared_ptr<graph::HostTimeline> timeline_ = std::make_shared<graph::HostTimeline>();
};

struct NoContext : graph::PassContext {
    static constexpr bool serves(graph::Lane) { return true; }
};
struct NoData {};

TEST(GraphWaits, AnExecutorTellsWhichStepsOfAnotherItsImportsComeFrom) {
    Recorder recorder;
    TellingLane accelerator(graph::Lane::Accelerator, recorder), host(graph::Lane::Host, recorder);
    const auto executor_of = [](graph::LaneBackend& lane) {
        auto made = graph::Executor::create({.lanes = {&lane}, .memory = {}, .compile = {}});
        EXPECT_TRUE(made);
        return std::move(*made);
    };
    const auto decoder = executor_of(accelerator), display = executor_of(host);
    std::uint64_t storage = 0;
    const graph::Physical place{reinterpret_cast<std::uintptr_t>(&storage), 0, sizeof storage};
    const graph::BufferDesc desc{sizeof storage, 8, graph::MemoryDomain::Shared};

    graph::FrameGraph decode;
    const graph::Buffer made = decode.import_buffer("pixels", desc, place);
    decode.add_pass<NoData>(
        "decode", graph::Lane::Accelerator,
        [&](graph::PassBuilder& pass, NoData&) {
            pass.write(made, graph::Access::KernelWrite);
            pass.has_side_effect();
        },
        [](const NoData&, NoContext&) {});
    const auto decoded = decoder->execute(decode);
    ASSERT_TRUE(decoded) << decoded.error().message;

    graph::FrameGraph draw;
    // As an application hands a point on: by another object of the same counter, already reached.
    auto elsewhere = std::make_shared<graph::HostTimeline>();
    elsewhere->signal(100);
    elsewhere->add_view(decoder->ready(made).timeline);
    const graph::Buffer shown = draw.import_buffer("pixels", desc, place, {elsewhere, decoder->ready(made).value});
    draw.add_pass<NoData>(
        "draw", graph::Lane::Host,
        [&](graph::PassBuilder& pass, NoData&) {
            pass.read(shown, graph::Access::HostRead);
            pass.has_side_effect();
        },
        [](const NoData&, NoContext&) {});
    const auto drawn = display->execute(draw);
    ASSERT_TRUE(drawn) << drawn.error().message;

    GraphWaits waits;
    std::vector<PointRecord> points;
    RingCursor cursor;
    recorder.read(cursor, points);
    for (const PointRecord& point : points) waits.add(point);
    const StepKey from{accelerator.plan, decoded->number}, to{host.plan, drawn->number};
    EXPECT_NE(from.plan, to.plan);
    EXPECT_EQ(waits.all(), (std::vector<GraphWait>{{to, 0, from, 0}}));
}

}  // namespace
}  // namespace kinetograph::profile
