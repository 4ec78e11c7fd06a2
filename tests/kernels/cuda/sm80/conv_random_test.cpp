#include <gtest/gtest.h>

#include <random>

#include "model_conv.hpp"

namespace kinetograph::sm80 {
namespace {

/// A problem with everything drawn: shapes, taps, steps, padding, history, upsampling, epilogue, element, numbers.
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
    p.h = pick({1, 3, 6, 9, 12});
    p.w = pick({1, 4, 7, 10, 17});
    p.c_in = pick({3, 8, 16, 24, 32, 40, 48, 50, 64, 96});
    p.filter.k = pick({1, 3, 8, 16, 31, 48, 64, 70, 96, 100});
    p.dtype = chance(4) ? Element::F16 : Element::BF16;
    if (chance(6)) {
        p.upsample = true;
        p.filter.r = p.filter.s = 3;
        p.pad = {0, 0, 1, 1, 1, 1};
    } else {
        p.upsample = chance(5);
        p.filter.r = pick({1, 2, 3, 3, 5});
        p.filter.s = pick({1, 2, 3, 3, 4});
        p.stride = {pick({1, 1, 2}), pick({1, 1, 1, 2, 3}), pick({1, 1, 1, 2, 3})};
        p.dilation = {pick({1, 1, 2}), pick({1, 1, 2}), pick({1, 1, 3})};
        p.pad = {0, pick({0, 0, 1}), pick({0, 1, 2}), pick({0, 1, 2}), pick({0, 1, 3}), pick({0, 1, 3})};
    }
    p.pad.front = pick({0, 1, (p.filter.q - 1) * p.dilation.d});
    conv.numbers = static_cast<Numbers>(dice() % 3);
    conv.bias = !chance(4);
    conv.residual = chance(3);
    conv.addend = chance(6);
    conv.epilogue.silu = chance(3);
    conv.epilogue.beta = chance(2) ? 1.0f : 2.0f;
    conv.epilogue.float32 = chance(5);
    if (chance(4)) conv.epilogue.norm = chance(2) ? Norm::Beside : Norm::Instead;
    conv.epilogue.norm_silu = chance(2);
    return conv;
}

std::string describe(const ConvCase& conv) {
    const ConvProblem& p = conv.shape;
    std::string text;
    for (const int64_t value : {p.n, p.d, p.h, p.w, p.c_in, p.filter.k, p.filter.q, p.filter.r, p.filter.s, p.stride.d,
                                p.stride.h, p.stride.w, p.dilation.d, p.dilation.h, p.dilation.w}) {
        text += std::to_string(value) + " ";
    }
    return text + "upsample " + std::to_string(p.upsample);
}

class RandomConv : public testing::TestWithParam<uint32_t> {};

/// Whatever fits one of the tiles agrees with fp64; shapes without an output launch nothing.
TEST_P(RandomConv, AgreesWithFp64) {
    uint32_t computed = 0;
    for (uint32_t seed = GetParam() * 1000; computed < 8; ++seed) {
        const ConvCase conv = random_case(seed);
        if (conv.shape.empty()) {
            EXPECT_TRUE(ConvNumbers(conv).launches(conv_configs()[0].config).empty());
            continue;
        }
        if (!some_tile_fits(conv.problem())) continue;
        ++computed;
        EXPECT_EQ(disagreement(conv), "") << "problem " << seed << ": " << describe(conv);
    }
}

INSTANTIATE_TEST_SUITE_P(EightProblems, RandomConv, testing::Range(0u, 8u));

}  // namespace
}  // namespace kinetograph::sm80
