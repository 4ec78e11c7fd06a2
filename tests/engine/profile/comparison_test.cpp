#include <kinetograph/engine/profile/comparison.hpp>
#include <kinetograph/engine/profile/student.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kinetograph::profile {
namespace {

PassSummary summary(const char* name, std::uint64_t calls, std::int64_t mean, double deviation) {
    return {.name = name, .track = "accelerator", .calls = calls, .mean = Nanoseconds(mean), .deviation = deviation};
}

TEST(Comparison, TellsAChangeFromNoise) {
    const Capture before{"before",
                         {summary("faster", 101, 1000, 50), summary("noise", 101, 1000, 200), summary("gone", 5, 10, 1),
                          summary("few", 2, 1000, 0)}};
    const Capture after{"after",
                        {summary("faster", 101, 900, 50), summary("noise", 101, 1010, 200), summary("new", 5, 700, 1),
                         summary("few", 2, 2000, 0)}};
    const auto changes = compare(before, after);
    ASSERT_EQ(changes.size(), 5U);
    EXPECT_EQ(changes[0].before->name, "few");
    EXPECT_FALSE(changes[0].is_significant()) << "one later call says nothing";
    EXPECT_EQ(changes[1].after->name, "new");
    EXPECT_EQ(changes[1].before, nullptr);
    EXPECT_FALSE(changes[1].is_on_both_sides());
    EXPECT_TRUE(changes[2].is_on_both_sides());
    EXPECT_EQ(changes[2].before->name, "faster");
    EXPECT_DOUBLE_EQ(changes[2].ratio, 0.9);
    EXPECT_EQ(changes[2].change, Nanoseconds(-100));
    EXPECT_TRUE(changes[2].is_significant());
    const auto noise = std::find_if(changes.begin(), changes.end(), [](const PassChange& each) {
        return each.before != nullptr && each.before->name == "noise";
    });
    EXPECT_FALSE(noise->is_significant());
    EXPECT_NEAR(noise->chance, 0.72, 0.01) << "10 / sqrt(2 * 200^2 / 100) = 0.354 standard errors";
}

/// Exact values: for whole degrees of freedom Student's distribution has closed forms (Abramowitz and Stegun 26.7.3).
TEST(Comparison, ChancesAreThoseOfStudentsDistribution) {
    for (const double t : {0.0, 0.1, 1.0, 2.5, 2.919986, 12.706205, 100.0}) {
        EXPECT_NEAR(chance_of_t(t, 1), 1 - 2 / std::numbers::pi * std::atan(t), 1e-10) << t;
        EXPECT_NEAR(chance_of_t(t, 2), 1 - t / std::sqrt(2 + t * t), 1e-10) << t;
        const double angle = std::atan(t / std::sqrt(3)), sine = std::sin(std::atan(t / 2)),
                     cosine = 2 / std::hypot(2, t);
        EXPECT_NEAR(chance_of_t(t, 3), 1 - 2 / std::numbers::pi * (angle + std::sin(angle) * std::cos(angle)), 1e-10)
            << t;
        EXPECT_NEAR(chance_of_t(t, 4), 1 - sine * (1 + cosine * cosine / 2), 1e-10) << t;
        EXPECT_NEAR(chance_of_t(t, 1e6), std::erfc(t / std::numbers::sqrt2), 1e-6) << t;
        EXPECT_NEAR(chance_of_t(t, 1e9), std::erfc(t / std::numbers::sqrt2), 1e-8) << t;
        EXPECT_EQ(chance_of_t(-t, 3.7), chance_of_t(t, 3.7)) << t;
    }
    EXPECT_NEAR(chance_of_t(2.228139, 10), 0.05, 1e-6) << "of every table";
    EXPECT_NEAR(chance_of_t(2.750, 30), 0.01, 1e-4);
}

TEST(Comparison, TwoCallsOnASideSayLittle) {
    // Means of two calls each, 25 ns and 5 ns apart by deviations of 10 ns: t is 2.5 with 2 degrees of freedom.
    const Capture before{"before", {summary("pass", 3, 1000, 10)}}, after{"after", {summary("pass", 3, 1025, 10)}};
    const PassChange change = compare(before, after).front();
    EXPECT_NEAR(change.chance, 1 - 2.5 / std::sqrt(2 + 2.5 * 2.5), 1e-10) << "0.13; the normal distribution: 0.012";
    const Capture far{"far", {summary("pass", 3, 1040, 10)}};
    EXPECT_NEAR(compare(before, far).front().chance, 0.0572, 1e-4) << "t is 4; the normal distribution: 0.00006";
    EXPECT_FALSE(compare(before, far).front().is_significant());
}

TEST(Comparison, DegreesOfFreedomAreThoseOfTheSideThatVaries) {
    const Capture before{"before", {summary("pass", 3, 1000, 100)}}, after{"after", {summary("pass", 1001, 1200, 1)}};
    const double t = 200 / std::sqrt(100.0 * 100.0 / 2 + 1.0 / 1000);
    EXPECT_NEAR(compare(before, after).front().chance, 1 - 2 / std::numbers::pi * std::atan(t), 1e-6) << "one degree";
}

}  // namespace
}  // namespace kinetograph::profile
