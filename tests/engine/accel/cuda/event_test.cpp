#include "gpu_fixture.hpp"

#include <algorithm>
#include <cstdio>
#include <thread>

namespace kinetograph::accel::cuda {
namespace {

using namespace std::chrono_literals;
using CudaEvents = Gpu;

TEST_F(CudaEvents, HaveNoTimeBeforeTheStreamHasPassedThem) {
    const auto stream = *device->create_stream("test");
    const auto event = *device->create_event();
    const auto gate = *device->create_timeline();
    EXPECT_FALSE(event->time()) << "never recorded";
    stream->wait(gate, 1);
    stream->record(event);
    EXPECT_FALSE(event->time()) << "not passed";
    gate->signal(1);
    ASSERT_TRUE(stream->synchronize());
    EXPECT_TRUE(event->time());
}

TEST_F(CudaEvents, LieOnTheHostsAxisAlthoughTheDevicesClockDrifts) {
    start({.clock_drift_ppm = 300});
    const auto stream = *device->create_stream("test");
    const auto first = *device->create_event(), second = *device->create_event();
    std::this_thread::sleep_for(400ms);  // the clock has had readings enough for a slope
    Nanoseconds worst{};
    for (int i = 0; i < 20; ++i) {
        const Nanoseconds before = host_now();
        stream->record(first);
        stream->enqueue("pause", []() -> Result<void> {
            std::this_thread::sleep_for(5ms);
            return {};
        });
        stream->record(second);
        ASSERT_TRUE(stream->synchronize());
        const Nanoseconds after = host_now();
        ASSERT_TRUE(first->time() && second->time());
        EXPECT_GE(*second->time() - *first->time(), 4900us);
        worst = std::max({worst, before - *first->time(), *second->time() - after});
    }
    // A stand-in's clock reads a second less than the host's; a loaded machine interrupts the readings.
    EXPECT_LT(worst, 5ms);
    std::printf("worst distance from the host's axis: %lld ns\n", static_cast<long long>(worst.count()));
}

TEST_F(CudaEvents, OfAnUnusedDeviceCostNoThread) {
    const std::uint64_t streams = calls("cuStreamCreate");
    EXPECT_EQ(streams, 0U);
    const auto event = *device->create_event();
    EXPECT_EQ(calls("cuStreamCreate"), 1U) << "the clock's own stream comes with the first event";
    EXPECT_EQ(calls("cuEventCreate"), 3U) << "two anchors and the event";
}

TEST_F(CudaEvents, MayBeDestroyedBeforeTheyArePassed) {
    const auto stream = *device->create_stream("test");
    const auto gate = *device->create_timeline();
    stream->wait(gate, 1);
    stream->record(*device->create_event());
    gate->signal(1);
    EXPECT_TRUE(stream->synchronize());
}

}  // namespace
}  // namespace kinetograph::accel::cuda
