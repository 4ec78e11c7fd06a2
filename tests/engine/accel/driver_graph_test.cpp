// Graphs of both drivers: capture and replay.
#include "driver_under_test.hpp"
#include "scaled_values.hpp"

#include <thread>

namespace kinetograph::accel {
namespace {

struct DriverGraphs : ScaledValue<DriverTest> {
    std::shared_ptr<Kernel> spin;

    void SetUp() override {
        DriverTest::SetUp();
        if (device) prepare();
    }
    void prepare() {
        ASSERT_NO_FATAL_FAILURE(make_value());
        spin = *load_test_kernels()->kernel("standin_spin");
    }
    void TearDown() override {
        release();
        spin.reset();
        ScaledValue::TearDown();
    }
    void add(float scale, float offset) { ScaledValue::add("add", scale, offset); }
    void spend(Nanoseconds time) {
        const standin::SpinParams params{static_cast<std::uint64_t>(time.count())};
        stream->launch({.name = "spin", .kernel = *spin, .grid = {1}, .block = {1}, .arguments = bytes_of(params)});
    }
};

TEST_P(DriverGraphs, CaptureDoesNothingAndEveryReplayDoesItAll) {
    const auto scratch = *device->allocate("scratch", kCount * sizeof(float));
    ASSERT_TRUE(stream->begin_capture());
    add(1, 3);
    stream->copy(scratch->data(), value->data(), kCount * sizeof(float));
    stream->fill(value->data(), std::byte{0}, 4 * sizeof(float));
    stream->copy(value->data(), scratch->data(), kCount * sizeof(float));
    add(2, 0);
    const auto graph = stream->end_capture();
    ASSERT_TRUE(graph) << message_of(graph);
    EXPECT_EQ((*graph)->nodes(), 5U);
    EXPECT_EQ(first_value(), 0.F);
    for (int i = 0; i < 3; ++i) stream->replay(**graph);
    EXPECT_EQ(first_value(), 42.F);  // ((0 + 3) * 2 + 3) * 2 + 3) * 2
    if (!real()) {
        EXPECT_EQ(control->kernels_run(), 6U);
    }
}

TEST_P(DriverGraphs, ReplayAndEagerWorkKeepTheirOrder) {
    ASSERT_TRUE(stream->begin_capture());
    add(10, 0);
    const auto graph = *stream->end_capture();
    add(1, 1);
    stream->replay(*graph);
    add(1, 2);
    stream->replay(*graph);
    EXPECT_EQ(first_value(), 120.F);
}

TEST_P(DriverGraphs, RefuseHostFunctionsTimelinesAndReplaysByName) {
    const auto timeline = *device->create_timeline();
    ASSERT_TRUE(stream->begin_capture());
    add(1, 1);
    const auto inner = *stream->end_capture();
    const auto capture = [&](const auto& call) {
        EXPECT_TRUE(stream->begin_capture());
        add(1, 1);
        call();
        add(1, 1);
        const auto graph = stream->end_capture();
        EXPECT_TRUE(!graph && graph.error().code == ErrorCode::Unsupported);
        return message_of(graph);
    };
    EXPECT_EQ(capture([&] { stream->enqueue("head", []() -> Result<void> { return {}; }); }),
              "host function \"head\" cannot be captured on stream \"decode\"");
    EXPECT_EQ(capture([&] { stream->wait(timeline, 3); }),
              "waiting for a timeline's value 3 cannot be captured on stream \"decode\"");
    EXPECT_EQ(capture([&] { stream->signal(timeline, 4); }),
              "signalling a timeline's value 4 cannot be captured on stream \"decode\"");
    EXPECT_EQ(capture([&] { stream->replay(*inner); }),
              "the replay of a graph cannot be captured on stream \"decode\"");
    EXPECT_EQ(capture([&] { EXPECT_FALSE(stream->upload(value->data(), {})); }),
              "an upload cannot be captured on stream \"decode\"");
    EXPECT_EQ(capture([&] { EXPECT_FALSE(stream->synchronize()); }),
              "waiting for the stream cannot be captured on stream \"decode\"");
    EXPECT_EQ(first_value(), 0.F) << "nothing of a capture that failed happens";
    EXPECT_EQ(timeline->value(), 0U);
}

TEST_P(DriverGraphs, WhatACaptureDoesNotForbidMayBeDoneMeanwhile) {
    const auto other = *device->create_stream("other");
    ASSERT_TRUE(stream->begin_capture());
    add(1, 1);
    {
        const auto memory = *device->allocate("while capturing", 1U << 20U);
        const auto event = *device->create_event();
        other->fill(memory->data(), std::byte{1}, 1U << 20U);
        other->record(event);
        EXPECT_TRUE(other->synchronize());
        EXPECT_TRUE(event->time());
    }
    add(1, 1);
    const auto graph = stream->end_capture();
    ASSERT_TRUE(graph) << message_of(graph);
    stream->replay(**graph);
    EXPECT_EQ(first_value(), 2.F);
}

TEST_P(DriverGraphs, EventsInAGraphAreStampedAnewByEveryReplay) {
    using namespace std::chrono_literals;
    constexpr auto kClockError = 200ms;  // a stand-in's clock reads a second less; a loaded machine interrupts readings
    const auto begin = *device->create_event(), middle = *device->create_event(), end = *device->create_event();
    ASSERT_TRUE(stream->begin_capture());
    stream->record(begin);
    spend(3ms);
    stream->record(middle);
    spend(1ms);
    stream->record(end);
    const auto graph = stream->end_capture();
    ASSERT_TRUE(graph) << message_of(graph);
    EXPECT_EQ((*graph)->nodes(), 5U);
    EXPECT_FALSE(begin->time()) << "capturing stamps nothing";
    Nanoseconds last{};
    for (int i = 0; i < 3; ++i) {
        const Nanoseconds before = host_now();
        stream->replay(**graph);
        ASSERT_TRUE(stream->synchronize());
        const auto first = begin->time(), second = middle->time(), third = end->time();
        ASSERT_TRUE(first && second && third);
        EXPECT_GE(*second - *first, 2900us);
        EXPECT_GE(*third - *second, 900us);
        EXPECT_GT(*first, last);
        EXPECT_GE(*first, before - kClockError);
        EXPECT_LE(*third, host_now() + kClockError);
        last = *second;  // new readings of the clock may move the axis by less than the last spin takes
    }
}

TEST_P(DriverGraphs, StatusMayBeAskedByAnotherThreadDuringACapture) {
    ASSERT_TRUE(stream->begin_capture());
    add(1, 1);
    std::thread([&] { EXPECT_TRUE(stream->status()); }).join();
    add(1, 1);
    const auto graph = stream->end_capture();
    ASSERT_TRUE(graph) << message_of(graph);
    stream->replay(**graph);
    EXPECT_EQ(first_value(), 2.F);
}

TEST_P(DriverGraphs, AStreamDestroyedInACaptureLeavesNothingBehind) {
    ASSERT_TRUE(stream->begin_capture());
    add(1, 1);
    stream.reset();
}

INSTANTIATE_TEST_SUITE_P(Of, DriverGraphs, testing::Values(kHip, kCuda), name_of);

}  // namespace
}  // namespace kinetograph::accel
