#include <gtest/gtest.h>

#include <kinetograph/tests/kernels/cuda/sm80/random_case.hpp>
#include <kinetograph/tests/sanitizers.hpp>

#include "model_conv.hpp"

namespace kinetograph::sm90 {
namespace {

class RandomSm90Conv : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomSm90Conv, AgreesWithFp64) {
    const sm80::RandomRange range{.h = {1, 3, 8, 13, 33},
                                  .w = {1, 4, 8, 11, 19},
                                  .c_in = {8, 16, 24, 32, 40, 64, 96, 128},
                                  .k = {8, 16, 48, 64, 96, 104, 136},
                                  .taps = {{1, 1}, {3, 3}, {3, 3}}};
    uint32_t computed = 0;
    for (uint32_t seed = GetParam() * 1000; computed < 6; ++seed) {
        const ConvCase conv = sm80::random_case(seed, range);
        if (conv.shape.empty() || choose_config(conv.problem(), chip_of_sms(4)) == nullptr) continue;
        ++computed;
        EXPECT_EQ(tile_disagreement(conv), "") << "problem " << seed << ": " << conv.problem().to_string();
    }
}

INSTANTIATE_TEST_SUITE_P(SixProblems, RandomSm90Conv, testing::Range(0u, test::kAddressSanitized ? 1u : 4u));

}  // namespace
}  // namespace kinetograph::sm90
