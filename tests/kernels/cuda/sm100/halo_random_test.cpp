#include <gtest/gtest.h>

#include <kinetograph/tests/kernels/cuda/sm80/random_case.hpp>
#include <kinetograph/tests/sanitizers.hpp>

#include "halo_conv.hpp"
#include "open_on_b200.hpp"

namespace kinetograph::sm100 {
namespace {

class RandomHaloConv : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomHaloConv, AgreesWithFp64) {
    const sm80::RandomRange range{.h = {1, 3, 8, 17, 33},
                                  .w = {1, 4, 9, 19},
                                  .c_in = {8, 16, 24, 32, 64, 96},
                                  .k = {3, 8, 16, 48, 96, 104, 136, 200},
                                  .taps = {{1, 1}, {3, 3}, {3, 3}}};
    uint32_t computed = 0;
    for (uint32_t seed = GetParam() * 1000; computed < 5; ++seed) {
        ConvCase conv = sm80::random_case(seed, range);
        conv.shape.input = conv.shape.weight = seed % 4 == 0 ? Element::F16 : Element::BF16;
        if (conv.shape.empty() || !is_open_on_b200(conv.problem())) continue;
        ++computed;
        EXPECT_EQ(halo_disagreement(conv), "") << "problem " << seed << ": " << conv.problem().to_string();
    }
}

INSTANTIATE_TEST_SUITE_P(FiveProblems, RandomHaloConv, testing::Range(0u, test::kAddressSanitized ? 1u : 5u));

}  // namespace
}  // namespace kinetograph::sm100
