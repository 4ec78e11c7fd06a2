// The samples of bench's reports.
#include <gtest/gtest.h>

#include <kinetograph/tools/kinetograph/bench.hpp>

namespace kinetograph::cli {
namespace {

Samples samples_of(std::initializer_list<double> seconds) {
    Samples samples;
    for (const double each : seconds) samples.add(each);
    return samples;
}

TEST(Samples, TheMedianIsTheMiddleOneOrTheMeanOfTheTwoInTheMiddle) {
    EXPECT_EQ(samples_of({7}).median(), 7);
    EXPECT_EQ(samples_of({4, 1}).median(), 2.5);
    EXPECT_EQ(samples_of({9, 1, 2}).median(), 2);
    EXPECT_EQ(samples_of({8, 1, 4, 2}).median(), 3);
}

TEST(Samples, AreReportedWithTheirSpread) {
    const nlohmann::json expected{{"median", 2.5}, {"min", 1.0}, {"max", 4.0}, {"count", 2}};
    EXPECT_EQ(nlohmann::json(samples_of({4, 1}).to_json()), expected);
    EXPECT_TRUE(Samples().to_json().is_null());
}

}  // namespace
}  // namespace kinetograph::cli
