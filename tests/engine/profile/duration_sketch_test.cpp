#include <kinetograph/engine/profile/duration_sketch.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace kinetograph::profile {
namespace {

constexpr double kQuantiles[] = {0.0, 0.01, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0};

/// The nearest-rank quantile of sorted values.
std::int64_t exact(const std::vector<std::int64_t>& sorted, double q) {
    const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(sorted.size())));
    return sorted[std::max<std::size_t>(rank, 1) - 1];
}

void expect_agreement(std::vector<std::int64_t> values) {
    DurationSketch sketch;
    for (const std::int64_t value : values) sketch.add(Nanoseconds(value));
    std::sort(values.begin(), values.end());
    for (const double q : kQuantiles) {
        const auto wanted = static_cast<double>(exact(values, q));
        EXPECT_NEAR(static_cast<double>(sketch.quantile(q).count()), wanted, wanted / 128.0) << q;
    }
    EXPECT_EQ(sketch.count(), values.size());
    EXPECT_EQ(sketch.min().count(), values.front());
    EXPECT_EQ(sketch.max().count(), values.back());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    EXPECT_NEAR(static_cast<double>(sketch.mean().count()), mean, 0.5 + 1e-9 * mean);
    double squares = 0.0;
    for (const std::int64_t value : values)
        squares += (static_cast<double>(value) - mean) * (static_cast<double>(value) - mean);
    if (values.size() > 1) {
        const double deviation = std::sqrt(squares / static_cast<double>(values.size() - 1));
        EXPECT_NEAR(sketch.deviation(), deviation, 1e-6 * deviation + 1e-6);
    }
}

TEST(DurationSketch, AgreesWithExactPercentilesOfManyDistributions) {
    std::mt19937_64 random(3);
    for (const double spread : {0.01, 0.3, 2.0, 4.0})
        for (const double scale : {200.0, 4e4, 1e7, 3e9}) {
            std::lognormal_distribution<double> durations(std::log(scale), spread);
            std::vector<std::int64_t> values(2000);
            for (auto& value : values) value = static_cast<std::int64_t>(durations(random));
            expect_agreement(std::move(values));
        }
}

TEST(DurationSketch, IsExactForFewAndForSmallDurations) {
    expect_agreement({5});
    expect_agreement({0, 0, 0, 1});
    std::vector<std::int64_t> values(128);
    std::iota(values.begin(), values.end(), 0);
    DurationSketch sketch;
    for (const std::int64_t value : values) sketch.add(Nanoseconds(value));
    for (const double q : kQuantiles) EXPECT_EQ(sketch.quantile(q).count(), exact(values, q)) << q;
}

TEST(DurationSketch, IsWithinItsErrorAtTheBordersOfItsBuckets) {
    for (int power = 6; power < 62; ++power)
        for (const std::int64_t offset : {-1, 0, 1})
            expect_agreement({1, (std::int64_t{1} << power) + offset, std::int64_t{1} << 62});
}

TEST(DurationSketch, IsEmptyAtFirst) {
    const DurationSketch sketch;
    EXPECT_EQ(sketch.quantile(0.5).count(), 0);
    EXPECT_EQ(sketch.mean().count(), 0);
    EXPECT_EQ(sketch.deviation(), 0.0);
}

TEST(DurationSketch, CountsANegativeDurationAsTheSmallest) {
    DurationSketch sketch;
    for (const std::int64_t value : {-50, 10, 20}) sketch.add(Nanoseconds(value));
    EXPECT_EQ(sketch.min().count(), -50);
    EXPECT_LE(sketch.quantile(0.0).count(), 0);
    EXPECT_EQ(sketch.quantile(1.0).count(), 20);
}

TEST(DurationSketch, ItsHistogramHoldsEveryDuration) {
    DurationSketch sketch;
    for (int i = 0; i < 1000; ++i) sketch.add(Nanoseconds(1000 + i));
    const auto bins = sketch.histogram(10);
    ASSERT_EQ(bins.size(), 10U);
    EXPECT_EQ(std::accumulate(bins.begin(), bins.end(), 0U), 1000U);
    for (const std::uint32_t bin : bins) EXPECT_NEAR(bin, 100.0, 20.0);
}

}  // namespace
}  // namespace kinetograph::profile
