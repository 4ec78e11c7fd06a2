#include <gtest/gtest.h>

#include <random>

#include "model_conv.hpp"

namespace kinetograph::sm90 {
namespace {

/// A problem with everything drawn: shapes, taps, padding, history, upsampling, epilogue, element, numbers.
ConvCase random_case(uint32_t seed) {
    std::mt19937 dice(seed * 7919);
    const auto pick = [&](std::initializer_list<int64_t> values) { return values.begin()[dice() % values.size()]; };
    const auto chance = [&](uint32_t one_in) { return dice() % one_in == 0; };
    ConvCase conv;
    conv.seed = seed;
    ConvProblem& p = conv.shape;
    p.n = pick({1, 1, 1, 2});
    p.filter.q = pick({1, 1, 2, 3});
    p.d = pick({1, 2, 3, 5});
    p.h = pick({1, 3, 8, 13, 33});
    p.w = pick({1, 4, 8, 11, 19});
    p.c_in = pick({8, 16, 24, 32, 40, 64, 96, 128});
    p.filter.k = pick({8, 16, 48, 64, 96, 104, 136});
    if (chance(5)) {
        p.upsample = true;
        p.filter.r = p.filter.s = 3;
        p.pad = {0, 0, 1, 1, 1, 1};
    } else {
        p.filter.r = p.filter.s = pick({1, 3, 3});
        p.pad = {0, pick({0, 0, 1}), pick({0, 1, 2}), pick({0, 1, 2}), pick({0, 1, 3}), pick({0, 1, 3})};
    }
    p.pad.front = pick({0, 1, p.filter.q - 1});
    conv.numbers = static_cast<Numbers>(dice() % 3);
    conv.bias = !chance(4);
    conv.residual = chance(3);
    conv.epilogue.silu = chance(3);
    conv.epilogue.beta = chance(2) ? 1.0f : 2.0f;
    if (chance(3)) conv.epilogue.norm = chance(2) ? Norm::Beside : Norm::Instead;
    conv.epilogue.norm_silu = chance(2);
    return conv;
}

class RandomSm90Conv : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomSm90Conv, AgreesWithFp64) {
    uint32_t computed = 0;
    for (uint32_t seed = GetParam() * 1000; computed < 6; ++seed) {
        const ConvCase conv = random_case(seed);
        if (conv.shape.empty() || choose_config(conv.problem(), chip_of_sms(4)) == nullptr) continue;
        ++computed;
        EXPECT_EQ(tile_disagreement(conv), "") << "problem " << seed << ": " << conv.problem().to_string();
    }
}

INSTANTIATE_TEST_SUITE_P(SixProblems, RandomSm90Conv, testing::Range(0u, 6u));

}  // namespace
}  // namespace kinetograph::sm90
