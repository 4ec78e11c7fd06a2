// Events of both drivers, on the host's axis.
#include "driver_under_test.hpp"

#include <algorithm>
#include <cstdio>
#include <thread>

namespace kinetograph::accel {
namespace {

using namespace std::chrono_literals;
using DriverEvents = DriverTest;

TEST_P(DriverEvents, HaveNoTimeBeforeTheStreamHasPassedThem) {
    const auto stream = *device->create_stream("test");
    const auto event = *device->create_event();
    const auto gate = *device->create_timeline();
    EXPECT_FALSE(event->time()) << "never recorded";
    const auto clock = device->clock_quality();  // since the first event
    ASSERT_TRUE(clock);
    EXPECT_GE(clock->error, 50us) << "what a clock that drifts by 100 ppm is off by before the next two readings";
    stream->wait(gate, 1);
    stream->record(event);
    EXPECT_FALSE(event->time()) << "not passed";
    gate->signal(1);
    ASSERT_TRUE(stream->synchronize());
    EXPECT_TRUE(event->time());
}

TEST_P(DriverEvents, LieOnTheHostsAxisAlthoughTheDevicesClockDrifts) {
    start({.clock_drift_ppm = 300});
    const auto stream = *device->create_stream("test");
    const auto first = *device->create_event(), second = *device->create_event();
    std::this_thread::sleep_for(400ms);  // the clock has had readings enough for a slope
    Nanoseconds worst{};
    const auto measure = [&] {
        worst = {};
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
    };
    // A stand-in's clock reads a second less than the host's. A loaded machine interrupts readings, but not all.
    constexpr Nanoseconds kClose = 5ms;
    ASSERT_NO_FATAL_FAILURE(measure());
    for (const Nanoseconds end = host_now() + 30s; worst >= kClose && host_now() < end;)
        ASSERT_NO_FATAL_FAILURE(measure());
    EXPECT_LT(worst, kClose);
    std::printf("worst distance from the host's axis: %lld ns\n", static_cast<long long>(worst.count()));
}

TEST_P(DriverEvents, OfAnUnusedDeviceCostNoThread) {
    const std::string create_stream = driver.word("hipStreamCreateWithFlags", "cuStreamCreate");
    EXPECT_EQ(calls(create_stream), 0U);
    if (!real()) {
        EXPECT_EQ(control->live().streams, 0U);
    }
    const auto event = *device->create_event();
    EXPECT_EQ(calls(create_stream), 1U) << "the clock's own stream comes with the first event";
    EXPECT_EQ(calls(driver.word("hipEventCreateWithFlags", "cuEventCreate")), 3U) << "two anchors and the event";
    if (!real()) {
        EXPECT_EQ(control->live().streams, 1U);
    }
    if (!real()) {
        EXPECT_EQ(control->live().events, 3U);
    }
}

TEST_P(DriverEvents, MayBeDestroyedBeforeTheyArePassed) {
    const auto stream = *device->create_stream("test");
    const auto gate = *device->create_timeline();
    stream->wait(gate, 1);
    stream->record(*device->create_event());
    gate->signal(1);
    EXPECT_TRUE(stream->synchronize());
}

INSTANTIATE_TEST_SUITE_P(Of, DriverEvents, testing::Values(kHip, kCuda), name_of);

}  // namespace
}  // namespace kinetograph::accel
