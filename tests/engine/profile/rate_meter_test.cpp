#include <kinetograph/engine/profile/rate_meter.hpp>

#include <gtest/gtest.h>

namespace kinetograph::profile {
namespace {

TEST(RateMeter, FollowsASteadyRateWithinTwoSeconds) {
    RateMeter meter;
    Nanoseconds now{};
    for (int i = 0; i < 100; ++i) meter.count(now += std::chrono::milliseconds(20));
    EXPECT_NEAR(meter.rate(now), 50.0, 0.6);
    for (int i = 0; i < 50; ++i) meter.count(now += std::chrono::milliseconds(40));
    EXPECT_NEAR(meter.rate(now), 25.0, 0.6);
}

TEST(RateMeter, BurstsCountWithThePausesBetweenThem) {
    RateMeter meter;
    Nanoseconds now{};
    for (int burst = 0; burst < 6; ++burst) {
        now = std::chrono::seconds(5) * burst;
        for (int i = 0; i < 4; ++i) meter.count(now += std::chrono::milliseconds(42));
    }
    EXPECT_NEAR(meter.rate(now), 0.8, 0.05);  // four frames in five seconds
}

TEST(RateMeter, SinksWhileNothingHappens) {
    RateMeter meter;
    EXPECT_EQ(meter.rate(Nanoseconds{}), 0.0);
    meter.count(Nanoseconds{});
    EXPECT_EQ(meter.rate(std::chrono::seconds(1)), 0.0);
    meter.count(std::chrono::milliseconds(100));
    EXPECT_LT(meter.rate(std::chrono::seconds(10)), 0.11);
}

}  // namespace
}  // namespace kinetograph::profile
