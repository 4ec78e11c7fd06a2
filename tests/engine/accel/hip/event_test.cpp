#include "standin_fixture.hpp"

#include <thread>

namespace kinetograph::accel::hip {
namespace {

using namespace std::chrono_literals;
using HipEvents = Standin;

TEST_F(HipEvents, HaveNoTimeBeforeTheStreamHasPassedThem) {
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

TEST_F(HipEvents, LieOnTheHostsAxisAlthoughTheDevicesClockDrifts) {
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
    // The device's clock reads a second less than the host's; a loaded machine interrupts the readings.
    EXPECT_LT(worst, 5ms);
}

TEST_F(HipEvents, OfAnUnusedDeviceCostNoThread) {
    const auto streams_before = control.live().streams;
    EXPECT_EQ(streams_before, 0U);
    const auto event = *device->create_event();
    EXPECT_EQ(control.live().streams, 1U) << "the clock's own stream comes with the first event";
    EXPECT_EQ(control.live().events, 3U) << "two anchors and the event";
}

TEST_F(HipEvents, SayWhyAClockCannotStart) {
    start({.injections = {{"hipEventSynchronize", 1, Status::LaunchFailure}}});
    EXPECT_EQ(message_of(device->create_event()), "device clock: hipEventSynchronize: hipErrorLaunchFailure (719)");
    EXPECT_TRUE(device->create_event()) << "the next try starts over";
}

TEST_F(HipEvents, MayBeDestroyedBeforeTheyArePassed) {
    const auto stream = *device->create_stream("test");
    const auto gate = *device->create_timeline();
    stream->wait(gate, 1);
    stream->record(*device->create_event());
    gate->signal(1);
    EXPECT_TRUE(stream->synchronize());
}

}  // namespace
}  // namespace kinetograph::accel::hip
