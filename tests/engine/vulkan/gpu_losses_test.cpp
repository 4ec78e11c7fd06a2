#include <kinetograph/engine/graph/timeline.hpp>
#include <kinetograph/engine/vulkan/gpu_losses.hpp>

#include <gtest/gtest.h>

namespace kinetograph::vulkan {
namespace {

using namespace std::chrono_literals;

constexpr Nanoseconds kBegin = 1000s, kMoment = 1ms;

Error lost(const char* who) { return {ErrorCode::DeviceLost, who}; }

TEST(GpuLosses, LastForAWhileInWhichWaitsAreShort) {
    GpuLosses losses;
    EXPECT_FALSE(losses.newest(kBegin));
    EXPECT_EQ(losses.patience_for(10s, kBegin), 10s);
    losses.note(lost("the first"), kBegin);
    losses.note(lost("the second"), kBegin + 1s);
    const Nanoseconds end = kBegin + 1s + GpuLosses::kLast;
    ASSERT_TRUE(losses.newest(end));
    EXPECT_EQ(losses.newest(end)->message, "the second");
    EXPECT_EQ(losses.patience_for(10s, end), GpuLosses::kPatience);
    EXPECT_EQ(losses.patience_for(1ms, end), 1ms);
    EXPECT_FALSE(losses.newest(end + kMoment));
    EXPECT_EQ(losses.patience_for(10s, end + kMoment), 10s);
}

TEST(GpuLosses, LastLongerOnceAQueueWasGivenUpForWhichWaitsAreShorterStill) {
    GpuLosses losses;
    losses.note(lost("a lane"), kBegin);
    EXPECT_FALSE(losses.gave_up(kBegin));
    losses.give_up(graph::Lane::Transfer, kBegin + 10s);
    const Nanoseconds end = kBegin + 10s + GpuLosses::kLast;
    EXPECT_TRUE(losses.newest(end));
    EXPECT_TRUE(losses.gave_up(end));
    EXPECT_TRUE(losses.gave_up(graph::Lane::Transfer, end));
    EXPECT_FALSE(losses.gave_up(graph::Lane::Graphics, end));
    EXPECT_EQ(losses.patience_for(10s, end), graph::kLook);
    EXPECT_FALSE(losses.gave_up(end + kMoment));
    EXPECT_FALSE(losses.newest(end + kMoment));
}

}  // namespace
}  // namespace kinetograph::vulkan
