#include "gpu_fixture.hpp"

#include <thread>

namespace kinetograph::accel::cuda {
namespace {

using standin::ScaleAddParams;
constexpr std::uint32_t kCount = 64;

struct CudaGraphs : Gpu {
    std::shared_ptr<Kernel> scale_add, spin;
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Memory> value;

    void SetUp() override {
        Gpu::SetUp();
        if (device) prepare();
    }
    void prepare() {
        const auto module = load_test_kernels();
        ASSERT_NE(module, nullptr);
        scale_add = *module->kernel("standin_scale_add");
        spin = *module->kernel("standin_spin");
        stream = std::move(*device->create_stream("decode"));
        value = std::move(*device->allocate("value", kCount * sizeof(float)));
        stream->fill(value->data(), std::byte{0}, kCount * sizeof(float));
    }
    void release() {
        stream.reset();
        scale_add.reset();
        spin.reset();
        value.reset();
    }
    void TearDown() override {
        release();
        Gpu::TearDown();
    }
    void add(float scale, float offset) {
        const ScaleAddParams params{reinterpret_cast<const float*>(value->data()),
                                    reinterpret_cast<float*>(value->data()), kCount, scale, offset};
        stream->launch(
            {.name = "add", .kernel = *scale_add, .grid = {1}, .block = {kCount}, .arguments = bytes_of(params)});
    }
    void spend(Nanoseconds time) {
        const standin::SpinParams params{static_cast<std::uint64_t>(time.count())};
        stream->launch({.name = "spin", .kernel = *spin, .grid = {1}, .block = {1}, .arguments = bytes_of(params)});
    }
    float first_value() {
        float read = 0;
        const auto done = stream->read_back(std::as_writable_bytes(std::span(&read, 1)), value->data());
        EXPECT_TRUE(done) << message_of(done);
        return read;
    }
};

TEST_F(CudaGraphs, CaptureDoesNothingAndEveryReplayDoesItAll) {
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
}

TEST_F(CudaGraphs, ReplayAndEagerWorkKeepTheirOrder) {
    ASSERT_TRUE(stream->begin_capture());
    add(10, 0);
    const auto graph = *stream->end_capture();
    add(1, 1);
    stream->replay(*graph);
    add(1, 2);
    stream->replay(*graph);
    EXPECT_EQ(first_value(), 120.F);
}

TEST_F(CudaGraphs, AReplayIsOneCallOfTheDriver) {
    ASSERT_TRUE(stream->begin_capture());
    for (int i = 0; i < 20; ++i) add(1, 1);
    const auto graph = *stream->end_capture();
    stream->replay(*graph);
    const EntryPointTable& driver = *driver_calls(*device);
    const auto contexts = [&] {
        return calls("cuCtxGetCurrent") + calls("cuCtxPushCurrent_v2") + calls("cuCtxPopCurrent_v2");
    };
    const std::uint64_t before = driver.calls() - contexts(), launches = calls("cuGraphLaunch");
    for (int i = 0; i < 5; ++i) stream->replay(*graph);
    EXPECT_EQ(driver.calls() - contexts() - before, 5U);
    EXPECT_EQ(calls("cuGraphLaunch") - launches, 5U);
    EXPECT_EQ(first_value(), 120.F);
}

TEST_F(CudaGraphs, RefuseHostFunctionsTimelinesAndReplaysByName) {
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

TEST_F(CudaGraphs, WhatACaptureDoesNotForbidMayBeDoneMeanwhile) {
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

/// The strictest mode: nobody in the process may make an unsafe call, unless the thread says that it knows.
TEST_F(CudaGraphs, DoNotSpoilACaptureOfTheApplications) {
    const auto driver = *Driver::open(library);
    const EntryPoints& cuda = driver->entry_points();
    ContextHandle primary = nullptr, popped = nullptr;
    ASSERT_EQ(cuda.cuDevicePrimaryCtxRetain(&primary, 0), Status::Success);
    ASSERT_EQ(cuda.cuCtxPushCurrent_v2(primary), Status::Success);
    StreamHandle theirs = nullptr;
    ASSERT_EQ(cuda.cuStreamCreate(&theirs, kStreamNonBlocking), Status::Success);
    ASSERT_EQ(cuda.cuStreamBeginCapture_v2(theirs, CaptureMode::Global), Status::Success);
    std::thread([&] {
        const auto memory = *device->allocate("while they capture", 1U << 20U);
        const auto timeline = *device->create_timeline();
        const auto event = *device->create_event();
        const auto mine = *device->create_stream("mine");
        mine->fill(memory->data(), std::byte{1}, 1U << 20U);
        mine->record(event);
        mine->signal(timeline, 1);
        EXPECT_TRUE(timeline->wait(1, std::chrono::seconds(10)));
        EXPECT_TRUE(mine->status());
        EXPECT_TRUE(mine->synchronize());
        EXPECT_TRUE(event->time());
        std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the clock's thread goes on meanwhile
    }).join();
    GraphHandle graph = nullptr;
    EXPECT_EQ(cuda.cuStreamEndCapture(theirs, &graph), Status::Success) << "their capture is as it was";
    if (graph != nullptr) {
        EXPECT_EQ(cuda.cuGraphDestroy(graph), Status::Success);
    }
    EXPECT_EQ(cuda.cuStreamDestroy_v2(theirs), Status::Success);
    EXPECT_EQ(cuda.cuCtxPopCurrent_v2(&popped), Status::Success);
    EXPECT_EQ(cuda.cuDevicePrimaryCtxRelease_v2(0), Status::Success);
}

TEST_F(CudaGraphs, EventsInAGraphAreStampedAnewByEveryReplay) {
    using namespace std::chrono_literals;
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
        EXPECT_GE(*first, before - 5ms);
        EXPECT_LE(*third, host_now() + 5ms);
        last = *third;
    }
}

TEST_F(CudaGraphs, StatusMayBeAskedByAnotherThreadDuringACapture) {
    ASSERT_TRUE(stream->begin_capture());
    add(1, 1);
    std::thread([&] { EXPECT_TRUE(stream->status()); }).join();
    add(1, 1);
    const auto graph = stream->end_capture();
    ASSERT_TRUE(graph) << message_of(graph);
    stream->replay(**graph);
    EXPECT_EQ(first_value(), 2.F);
}

TEST_F(CudaGraphs, AStreamDestroyedInACaptureLeavesNothingBehind) {
    ASSERT_TRUE(stream->begin_capture());
    add(1, 1);
    stream.reset();
}

}  // namespace
}  // namespace kinetograph::accel::cuda
