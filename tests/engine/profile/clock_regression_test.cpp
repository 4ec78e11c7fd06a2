#include <kinetograph/engine/profile/clock_regression.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace kinetograph::profile {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(ClockRegression, OneReadingFixesTheOffsetAtTheNominalPeriod) {
    ClockRegression clock(2.0);
    clock.add(1000, Nanoseconds(50'000), Nanoseconds(10));
    EXPECT_EQ(clock.to_host(1000).count(), 50'000);
    EXPECT_EQ(clock.to_host(1500).count(), 51'000);
    EXPECT_EQ(clock.to_host(500).count(), 49'000);
    EXPECT_EQ(clock.error(), Nanoseconds(10)) << "of its only reading";
}

TEST(ClockRegression, ItsErrorIsThatOfTheBestReadingAndTheDistanceFromTheLine) {
    ClockRegression clock;
    EXPECT_EQ(clock.error(), Nanoseconds(0)) << "nothing is known";
    for (std::int64_t i = 0; i < 32; ++i)
        clock.add(static_cast<std::uint64_t>(i * kSecond), Nanoseconds(i * kSecond + (i % 2 == 0 ? 300 : -300)),
                  Nanoseconds(i == 7 ? 2000 : 2500));
    EXPECT_NEAR(static_cast<double>(clock.error().count()), 2300.0, 20.0);
}

TEST(ClockRegression, FindsADriftOf35PpmThroughMicrosecondsOfNoise) {
    // A year of uptime on both clocks: the fit must keep nanosecond precision with large numbers.
    const std::int64_t host_start = 365LL * 86400 * kSecond;
    const std::uint64_t tick_start = 1ULL << 54U;
    const double period = 1.04, drift = 35e-6;
    std::mt19937 random(7);
    std::uniform_int_distribution<std::int64_t> noise(-1000, 1000);
    ClockRegression clock(period);
    const auto ticks_at = [&](std::int64_t nanoseconds) {
        return tick_start +
               static_cast<std::uint64_t>(std::llround(static_cast<double>(nanoseconds) / (period * (1.0 + drift))));
    };
    for (std::int64_t i = 0; i <= 60; ++i)
        clock.add(ticks_at(i * kSecond / 10), Nanoseconds(host_start + i * kSecond / 10 + noise(random)),
                  Nanoseconds(1000));
    EXPECT_NEAR(clock.drift_ppm(), 35.0, 0.2);
    // Noise of +-1 us, sigma 577 ns, over 61 readings: the line's error at its end is about 577 / sqrt(61) * 2 = 150
    // ns.
    EXPECT_NEAR(static_cast<double>(clock.to_host(ticks_at(6 * kSecond)).count() - host_start - 6 * kSecond), 0.0, 600);
    EXPECT_NEAR(static_cast<double>(clock.residual().count()), 577.0, 150.0);
}

TEST(ClockRegression, AnUncertainReadingHardlyMovesTheLine) {
    ClockRegression clock;
    for (std::uint64_t i = 0; i < 10; ++i)
        clock.add(i * kSecond, Nanoseconds(static_cast<std::int64_t>(i) * kSecond), Nanoseconds(100));
    clock.add(10 * kSecond, Nanoseconds(10 * kSecond + 5'000'000), Nanoseconds(5'000'000));
    EXPECT_NEAR(static_cast<double>(clock.to_host(9 * kSecond).count()), 9e9, 200);
}

TEST(ClockRegression, FollowsACounterThatWrapsAtItsValidBits) {
    ClockRegression clock(1.0, 36);
    const std::uint64_t range = 1ULL << 36U;
    clock.add(range - 100, Nanoseconds(1000), Nanoseconds(1));
    EXPECT_EQ(clock.to_host(50).count(), 1150);
    clock.add(900, Nanoseconds(2000), Nanoseconds(1));
    EXPECT_EQ(clock.to_host(range - 100).count(), 1000);
}

/// 36 bits of nanoseconds are 69 seconds: the window is as long as eighteen rounds, and then the device rests for four.
TEST(ClockRegression, FollowsACounterThatWrapsWithinItsWindowAndWhileItIsNotRead) {
    ClockRegression clock(1.0, 36);
    const std::int64_t start = 1000 * kSecond;
    const auto shown = [](std::int64_t host) {  // 20 ppm fast, and with bits that are not valid
        const auto ticks = static_cast<std::uint64_t>(host + host / 50'000);
        return (ticks & ((1ULL << 36U) - 1)) | 5ULL << 40U;
    };
    const auto error_at = [&](std::int64_t host) {
        const Nanoseconds near(host + 10 * kSecond);
        return static_cast<double>(clock.to_host(shown(host), near).count() - host);
    };
    for (std::int64_t host = start; host < start + 1280 * kSecond; host += 20 * kSecond)
        clock.add(shown(host), Nanoseconds(host), Nanoseconds(500));
    EXPECT_NEAR(clock.drift_ppm(), -20.0, 0.5);
    EXPECT_LT(clock.residual().count(), 1000);
    EXPECT_NEAR(error_at(start + 3 * kSecond), 0.0, 1000.0);
    EXPECT_NEAR(error_at(start + 1279 * kSecond), 0.0, 1000.0);
    EXPECT_NEAR(error_at(start + 1580 * kSecond), 0.0, 1000.0);
    clock.add(shown(start + 1580 * kSecond), Nanoseconds(start + 1580 * kSecond), Nanoseconds(500));
    EXPECT_NEAR(clock.drift_ppm(), -20.0, 0.5) << "the line goes on";
}

TEST(ClockRegression, TwoReadingsCloseTogetherDoNotInventADrift) {
    ClockRegression clock;
    clock.add(1000, Nanoseconds(1000), Nanoseconds(500));
    clock.add(2000, Nanoseconds(2300), Nanoseconds(500));
    EXPECT_DOUBLE_EQ(clock.drift_ppm(), 0.0);
}

TEST(ClockRegression, AJumpOfEitherClockBeginsANewLineAtOnce) {
    for (const bool device_jumps : {true, false}) {
        ClockRegression clock;
        const auto reading = [&](std::int64_t second, std::int64_t ticks, std::int64_t host) {
            clock.add(static_cast<std::uint64_t>(second * kSecond + ticks), Nanoseconds(second * kSecond + host),
                      Nanoseconds(500));
        };
        for (std::int64_t second = 1000; second < 1040; ++second) reading(second, second * 20'000, 0);  // 20 ppm fast
        EXPECT_NEAR(clock.drift_ppm(), -20.0, 0.5);
        const std::int64_t ticks = device_jumps ? -900 * kSecond : 0, host = device_jumps ? 0 : 3600 * kSecond;
        for (std::int64_t second = 1040; second < 1043; ++second) {
            reading(second, second * 20'000 + ticks, host);
            EXPECT_NEAR(static_cast<double>(
                            clock.to_host(static_cast<std::uint64_t>(second * (kSecond + 20'000) + ticks)).count()),
                        static_cast<double>(second * kSecond + host), 1000.0)
                << second;
        }
        EXPECT_LT(clock.residual().count(), 1000);
    }
}

TEST(ClockRegression, ForgetsReadingsBeyondItsWindow) {
    ClockRegression clock(1.0, 64, 4);
    for (std::uint64_t i = 0; i < 4; ++i) clock.add(i * kSecond, Nanoseconds(1'000'000'000'000), Nanoseconds(1));
    for (std::uint64_t i = 4; i < 8; ++i)
        clock.add(i * kSecond, Nanoseconds(static_cast<std::int64_t>(i) * kSecond), Nanoseconds(1));
    EXPECT_EQ(clock.to_host(9 * kSecond).count(), 9 * kSecond);
}

}  // namespace
}  // namespace kinetograph::profile
