#include <gtest/gtest.h>

#include <kinetograph/tests/kernels/cuda/sm80/random_case.hpp>
#include <kinetograph/tests/sanitizers.hpp>

#include "model_conv.hpp"

namespace kinetograph::sm90 {
namespace {

class RandomWinograd : public testing::TestWithParam<uint32_t> {};

/// Drawn problems with 3x3x3 taps on two frames or more; every fourth in fp16.
TEST_P(RandomWinograd, AgreesWithFp64) {
    sm80::RandomRange range{.h = {1, 3, 8, 13, 19},
                            .w = {1, 4, 8, 11, 19},
                            .c_in = {8, 16, 24, 32, 40, 64, 96},
                            .k = {8, 16, 48, 96, 104, 200},
                            .taps = {{3, 3}}};
    uint32_t computed = 0;
    for (uint32_t seed = GetParam() * 1000; computed < 6; ++seed) {
        const bool fp16 = seed % 4 == 0;
        if (fp16) range.k = {8, 48, 96};  // the fp16 tile that the tests compile
        ConvCase conv = sm80::random_case_in_time(seed, range, 5);
        ConvProblem& p = conv.shape;
        if (fp16) p.input = p.weight = Element::F16;
        if (p.empty() || p.d_out() < 2 || choose_winograd_config(conv.problem(), chip_of_sms(4)) == nullptr) continue;
        ++computed;
        EXPECT_EQ(winograd_disagreement(conv, fp16 ? "sm90_winograd_f16_n96_16x8" : ""), "")
            << "problem " << seed << ": " << conv.problem().to_string();
    }
}

INSTANTIATE_TEST_SUITE_P(SixProblems, RandomWinograd, testing::Range(0u, test::kAddressSanitized ? 1u : 3u));

}  // namespace
}  // namespace kinetograph::sm90
