#include <kinetograph/engine/profile/clock_brackets.hpp>

#include <gtest/gtest.h>

#include <random>

namespace kinetograph::profile {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// A device whose clock drifts, and a lane that submits a picture every 16 ms and asks after it when it submits the
/// next one; the picture runs for 3 ms, from some time after its submission on.
class Display {
  public:
    explicit Display(double drift_ppm) : drift_(drift_ppm * 1e-6) {}

    std::uint64_t ticks_at(Nanoseconds host) const {
        return kStart + static_cast<std::uint64_t>(static_cast<double>(host.count()) / kPeriod * (1.0 + drift_));
    }
    void picture() {
        const Nanoseconds begin = now_ + microseconds(delay_(random_)), end = begin + milliseconds(3);
        const Nanoseconds seen = std::max(end, now_ + microseconds(poll_(random_)));
        brackets_.add(ticks_at(begin), now_, ticks_at(end), seen);
        now_ += milliseconds(16);
    }

    static constexpr double kPeriod = 1.04;
    static constexpr std::uint64_t kStart = 1ULL << 40U;
    double drift_;
    std::mt19937 random_{7};
    std::uniform_int_distribution<int> delay_{60, 4000}, poll_{3000, 16'000};
    Nanoseconds now_ = seconds(1000);
    ClockRegression regression_{kPeriod};
    ClockBrackets brackets_{regression_};
};

TEST(ClockBrackets, FollowADriftingClockWithinTheBoundTheyState) {
    for (const double drift_ppm : {-90.0, 0.0, 35.0, 90.0}) {
        Display display(drift_ppm);
        display.regression_.add(display.ticks_at(display.now_), display.now_, microseconds(40));
        const Nanoseconds started = display.now_;
        while (display.now_ - started < seconds(60)) {
            display.picture();
            const Nanoseconds at = display.now_, found = display.regression_.to_host(display.ticks_at(at));
            const Nanoseconds bound = display.regression_.bound(2 * ClockBrackets::kInterval);
            ASSERT_LE(std::abs((found - at).count()), bound.count())
                << drift_ppm << " ppm, " << (at - started).count() / 1'000'000 << " ms after the start";
        }
        // One anchor at the start would be off by 5 ms by now, with 90 ppm.
        const Nanoseconds bound = display.regression_.bound(2 * ClockBrackets::kInterval);
        EXPECT_LT(bound, milliseconds(2));
        EXPECT_NEAR(display.regression_.drift_ppm(), -drift_ppm, 40.0);
    }
}

TEST(ClockBrackets, TheClosestBoundsOfAnIntervalMakeOneReading) {
    ClockRegression regression;
    ClockBrackets brackets(regression);
    const auto work = [&](Nanoseconds at, Nanoseconds before, Nanoseconds after) {
        brackets.add(static_cast<std::uint64_t>(at.count()), at - before, static_cast<std::uint64_t>(at.count()),
                     at + after);
    };
    work(milliseconds(10), microseconds(10), milliseconds(9));  // ran at once, and was seen late
    work(milliseconds(20), milliseconds(9), microseconds(30));  // waited, and was seen at once
    EXPECT_TRUE(regression.empty()) << "the interval is not over";
    work(milliseconds(400), milliseconds(1), milliseconds(1));
    ASSERT_FALSE(regression.empty());
    EXPECT_EQ(regression.to_host(20'000'000), milliseconds(20) + microseconds(10)) << "between -10 and 30 us";
    EXPECT_NEAR(static_cast<double>(regression.error().count()), 20'000.0, 1'100.0) << "and 100 ppm of 10 ms";
}

TEST(ClockRegression, ItsBoundHoldsWhereAllReadingsErrInTheSameWay) {
    ClockRegression clock;
    EXPECT_EQ(clock.bound({}), Nanoseconds{}) << "nothing is known";
    for (std::int64_t i = 0; i < 8; ++i)  // early ones too early and late ones too late: the line tilts
        clock.add(static_cast<std::uint64_t>(i * 1'000'000'000), Nanoseconds(i * 1'000'000'000 + (i < 4 ? -900 : 900)),
                  Nanoseconds(1000));
    const Nanoseconds off = clock.to_host(7'000'000'000) - seconds(7);
    EXPECT_GT(off, Nanoseconds(1000)) << "further off than any reading";
    EXPECT_GE(clock.bound({}), off);
    EXPECT_LT(clock.bound({}), Nanoseconds(2000));
    EXPECT_GT(clock.bound(seconds(4)), clock.bound({}));
}

TEST(ClockRegression, TheBoundOfOneReadingGrowsByWhatQuartzDrifts) {
    ClockRegression clock;
    clock.add(0, Nanoseconds(0), microseconds(5));
    EXPECT_EQ(clock.bound(seconds(1)), microseconds(105));
}

}  // namespace
}  // namespace kinetograph::profile
