// Graphs beside the calls and the captures of a CUDA application; the rest is in driver_graph_test.cpp.
#include "gpu_fixture.hpp"

#include <kinetograph/tests/engine/accel/scaled_values.hpp>

#include <thread>

namespace kinetograph::accel::cuda {
namespace {

struct CudaGraphs : ScaledValue<Gpu> {
    void SetUp() override {
        Gpu::SetUp();
        if (device) make_value();
    }
    void add(float scale, float offset) { ScaledValue::add("add", scale, offset); }
};

TEST_F(CudaGraphs, AReplayIsOneCallOfTheDriver) {
    ASSERT_TRUE(stream->begin_capture());
    for (int i = 0; i < 20; ++i) add(1, 1);
    const auto graph = *stream->end_capture();
    stream->replay(*graph);
    const gpu::EntryPointTable& driver = *driver_calls(*device);
    const auto contexts = [&] {
        return calls("cuCtxGetCurrent") + calls("cuCtxPushCurrent_v2") + calls("cuCtxPopCurrent_v2");
    };
    const std::uint64_t before = driver.calls() - contexts(), launches = calls("cuGraphLaunch");
    for (int i = 0; i < 5; ++i) stream->replay(*graph);
    EXPECT_EQ(driver.calls() - contexts() - before, 5U);
    EXPECT_EQ(calls("cuGraphLaunch") - launches, 5U);
    EXPECT_EQ(first_value(), 120.F);
}

/// The strictest mode: no thread of the process may make an unsafe call, unless it has relaxed its own mode.
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

}  // namespace
}  // namespace kinetograph::accel::cuda
