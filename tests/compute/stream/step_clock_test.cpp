#include <kinetograph/compute/stream/step_clock.hpp>
#include <kinetograph/engine/accel/cpu/device.hpp>

#include <gtest/gtest.h>

#include <thread>

namespace kinetograph::stream {
namespace {

TEST(StepClocks, TellHowLongStepsTookAndLeaveTheFirstOutOfTheAverage) {
    const auto device = accel::cpu::create_device();
    const auto stream = device->create_stream("steps").value();
    StepClock clock(*device);
    const auto step = [&](std::chrono::milliseconds time, bool is_first) {
        const Lock enqueuing(clock.enqueuing());
        ASSERT_TRUE(clock.begin(*stream));
        stream->enqueue("sleep", [time]() -> Result<void> {
            std::this_thread::sleep_for(time);
            return {};
        });
        ASSERT_TRUE(clock.end(*stream, is_first));
    };
    step(std::chrono::milliseconds(60), true);
    ASSERT_TRUE(stream->synchronize());
    const Nanoseconds first_done = host_now();
    for (int i = 0; i < 3; ++i) step(std::chrono::milliseconds(5), false);
    EXPECT_EQ(clock.times().steps, 4U);
    ASSERT_TRUE(stream->synchronize());
    const StepTimes times = clock.times();
    EXPECT_GE(times.last_step, std::chrono::milliseconds(5));
    EXPECT_GE(times.average_step, std::chrono::milliseconds(5));
    EXPECT_LE(times.average_step, (host_now() - first_done) / 3);
}

TEST(StepClocks, TellWhenEachOfTheNewestStepsWasDone) {
    const auto device = accel::cpu::create_device();
    const auto stream = device->create_stream("steps").value();
    StepClock clock(*device);
    std::vector<Nanoseconds> after;
    for (int i = 0; i < 70; ++i) {
        const Lock enqueuing(clock.enqueuing());
        ASSERT_TRUE(clock.begin(*stream));
        ASSERT_TRUE(clock.end(*stream, false));
        ASSERT_TRUE(stream->synchronize());
        after.push_back(host_now());
    }
    EXPECT_FALSE(clock.span_of(0));
    EXPECT_FALSE(clock.span_of(6));  // forgotten
    EXPECT_FALSE(clock.span_of(71));
    for (std::uint64_t step = 8; step <= 70; ++step) {
        const auto span = clock.span_of(step);
        ASSERT_TRUE(span) << step;
        EXPECT_GE(span->end, span->begin) << step;
        EXPECT_GT(span->end, after[step - 2]) << step;
        EXPECT_LE(span->end, after[step - 1]) << step;
    }
}

}  // namespace
}  // namespace kinetograph::stream
