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
    ConvShape& p = conv.shape;
    p.n = pick({1, 1, 1, 2});
    p.q = pick({1, 1, 2, 3});
    p.d = pick({1, 2, 3, 5});
    p.h = pick({1, 3, 6, 9, 12});
    p.w = pick({1, 4, 7, 10, 17});
    p.c_in = pick({3, 8, 16, 24, 32, 40, 48, 50, 64, 96});
    p.c_out = pick({1, 3, 8, 16, 31, 48, 64, 70, 96, 100});
    p.element = chance(4) ? Element::F16 : Element::BF16;
    if (chance(6)) {
        p.upsample = Upsample::SubPixel;
        p.r = p.s = 3;
        p.pad_front = p.pad_back = {0, 1, 1};
    } else {
        p.upsample = chance(5) ? Upsample::Nearest2x : Upsample::None;
        p.r = pick({1, 2, 3, 3, 5});
        p.s = pick({1, 2, 3, 3, 4});
        p.stride = {pick({1, 1, 2}), pick({1, 1, 1, 2, 3}), pick({1, 1, 1, 2, 3})};
        p.dilation = {pick({1, 1, 2}), pick({1, 1, 2}), pick({1, 1, 3})};
        p.pad_front = {0, pick({0, 1, 2}), pick({0, 1, 3})};
        p.pad_back = {pick({0, 0, 1}), pick({0, 1, 2}), pick({0, 1, 3})};
    }
    p.pad_front.d = pick({0, 1, (p.q - 1) * p.dilation.d});
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
    const ConvShape& p = conv.shape;
    std::string text;
    for (const int64_t value : {p.n, p.d, p.h, p.w, p.c_in, p.c_out, p.q, p.r, p.s, p.stride.d, p.stride.h, p.stride.w,
                                p.dilation.d, p.dilation.h, p.dilation.w}) {
        text += std::to_string(value) + " ";
    }
    return text + "upsample " + std::to_string(static_cast<int>(p.upsample));
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
        if (!declined(conv.shape, conv.epilogue).empty()) continue;
        ++computed;
        EXPECT_EQ(disagreement(conv), "") << "problem " << seed << ": " << describe(conv);
    }
}

INSTANTIATE_TEST_SUITE_P(EightProblems, RandomConv, testing::Range(0u, 8u));

}  // namespace
}  // namespace kinetograph::sm80
