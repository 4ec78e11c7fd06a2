#include <gtest/gtest.h>

#include <kinetograph/tests/sanitizers.hpp>

#include "model_conv.hpp"
#include "random_case.hpp"

namespace kinetograph::sm80 {
namespace {

class RandomConv : public testing::TestWithParam<uint32_t> {};

/// Every problem that fits a tile agrees with fp64; shapes without an output launch nothing.
TEST_P(RandomConv, AgreesWithFp64) {
    const RandomRange range{.h = {1, 3, 6, 9, 12},
                            .w = {1, 4, 7, 10, 17},
                            .c_in = {3, 8, 16, 24, 32, 40, 48, 50, 64, 96},
                            .k = {1, 3, 8, 16, 31, 48, 64, 70, 96, 100},
                            .taps = {{1, 1}, {1, 4}, {2, 3}, {3, 2}, {3, 3}, {3, 3}, {5, 3}},
                            .steps = true,
                            .types = true};
    uint32_t computed = 0;
    for (uint32_t seed = GetParam() * 1000; computed < 8; ++seed) {
        const ConvCase conv = random_case(seed, range);
        if (conv.shape.empty()) {
            EXPECT_TRUE(ConvNumbers(conv).launches(conv_configs()[0].config).empty());
            continue;
        }
        if (!some_tile_fits(conv.problem())) continue;
        ++computed;
        EXPECT_EQ(disagreement(conv), "") << "problem " << seed << ": " << conv.problem().to_string();
    }
}

INSTANTIATE_TEST_SUITE_P(EightProblems, RandomConv, testing::Range(0u, test::kAddressSanitized ? 1u : 5u));

}  // namespace
}  // namespace kinetograph::sm80
