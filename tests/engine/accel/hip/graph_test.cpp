#include "standin_fixture.hpp"

#include <numeric>
#include <thread>

namespace kinetograph::accel::hip {
namespace {

using standin::ScaleAddParams;
constexpr std::uint32_t kCount = 64;

struct HipGraphs : Standin {
    std::shared_ptr<Kernel> scale_add;
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Memory> value;

    void SetUp() override {
        Standin::SetUp();
        prepare();
    }
    void prepare() {
        scale_add = *(*device->load("test kernels", standin::placeholder_image()))->kernel("standin_scale_add");
        stream = std::move(*device->create_stream("decode"));
        value = std::move(*device->allocate("value", kCount * sizeof(float)));
        stream->fill(value->data(), std::byte{0}, kCount * sizeof(float));
    }
    void release() {
        stream.reset();
        scale_add.reset();
        value.reset();
    }
    void TearDown() override {
        release();
        Standin::TearDown();
    }
    void add(float scale, float offset) {
        const ScaleAddParams params{reinterpret_cast<const float*>(value->data()),
                                    reinterpret_cast<float*>(value->data()), kCount, scale, offset};
        stream->launch(
            {.name = "add", .kernel = *scale_add, .grid = {1}, .block = {kCount}, .arguments = bytes_of(params)});
    }
    float first_value() {
        float read = 0;
        const auto done = stream->read_back(std::as_writable_bytes(std::span(&read, 1)), value->data());
        EXPECT_TRUE(done) << message_of(done);
        return read;
    }
};

TEST_F(HipGraphs, CaptureDoesNothingAndEveryReplayDoesItAll) {
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
    EXPECT_EQ(control.kernels_run(), 6U);
}

TEST_F(HipGraphs, ReplayAndEagerWorkKeepTheirOrder) {
    ASSERT_TRUE(stream->begin_capture());
    add(10, 0);
    const auto graph = *stream->end_capture();
    add(1, 1);
    stream->replay(*graph);
    add(1, 2);
    stream->replay(*graph);
    EXPECT_EQ(first_value(), 120.F);
}

TEST_F(HipGraphs, RefuseHostFunctionsTimelinesAndReplaysByName) {
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

TEST_F(HipGraphs, ALaunchThatFailsInACaptureFailsTheCaptureAlone) {
    release();
    start({.injections = {{"hipModuleLaunchKernel", 1, Status::InvalidValue}}});
    prepare();
    ASSERT_TRUE(stream->begin_capture());
    add(1, 1);
    add(1, 1);
    EXPECT_EQ(message_of(stream->end_capture()),
              "add: launching \"standin_scale_add\": hipModuleLaunchKernel: hipErrorInvalidValue (1)");
    add(1, 5);
    EXPECT_EQ(first_value(), 5.F);
}

TEST_F(HipGraphs, WhatTheRuntimeRefusesIsNamed) {
    release();
    start({.injections = {{"hipStreamBeginCapture", 1, Status::IllegalState},
                          {"hipGraphInstantiate", 1, Status::OutOfMemory},
                          {"hipGraphLaunch", 1, Status::InvalidHandle}}});
    prepare();
    EXPECT_EQ(message_of(stream->begin_capture()),
              "capturing stream \"decode\": hipStreamBeginCapture: hipErrorIllegalState (401)");
    ASSERT_TRUE(stream->begin_capture());
    EXPECT_EQ(message_of(stream->begin_capture()), "stream \"decode\" is being captured already");
    add(1, 1);
    EXPECT_EQ(message_of(stream->end_capture()),
              "capturing stream \"decode\": a graph of 1 nodes: hipGraphInstantiate: hipErrorOutOfMemory (2)");
    EXPECT_EQ(message_of(stream->end_capture()), "stream \"decode\" is not being captured");
    ASSERT_TRUE(stream->begin_capture());
    add(1, 1);
    const auto graph = *stream->end_capture();
    stream->replay(*graph);
    EXPECT_EQ(message_of(stream->synchronize()),
              "stream \"decode\" replaying a graph of 1 nodes: hipGraphLaunch: hipErrorInvalidHandle (400)");
}

TEST_F(HipGraphs, EventsInAGraphAreStampedAnewByEveryReplay) {
    const auto begin = *device->create_event(), middle = *device->create_event(), end = *device->create_event();
    ASSERT_TRUE(stream->begin_capture());
    stream->record(begin);
    add(1, 1);
    stream->record(middle);
    add(1, 1);
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
        EXPECT_LE(*first, *second);
        EXPECT_LE(*second, *third);
        EXPECT_GT(*first, last);
        EXPECT_GE(*first, before - std::chrono::milliseconds(5));
        last = *third;
    }
}

TEST_F(HipGraphs, StatusMayBeAskedByAnotherThreadDuringACapture) {
    ASSERT_TRUE(stream->begin_capture());
    add(1, 1);
    std::thread([&] { EXPECT_TRUE(stream->status()); }).join();
    add(1, 1);
    const auto graph = stream->end_capture();
    ASSERT_TRUE(graph) << message_of(graph);
    stream->replay(**graph);
    EXPECT_EQ(first_value(), 2.F);
}

TEST_F(HipGraphs, AStreamDestroyedInACaptureLeavesNothingBehind) {
    ASSERT_TRUE(stream->begin_capture());
    add(1, 1);
    stream.reset();
}

}  // namespace
}  // namespace kinetograph::accel::hip
