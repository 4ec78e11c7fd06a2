#include <kinetograph/kernels/cuda/sm100/conv2d_configs.hpp>
#include <random>

#include "model_conv.hpp"

/// fp16 and fp8 e4m3 operands, and outputs of every type.
namespace kinetograph::sm100 {
namespace {

constexpr Element kE4m3 = Element::F8E4M3, kE5m2 = Element::F8E5M2;
constexpr PresetOptions kHalf{.element = Element::F16, .output = Element::F16};
constexpr PresetOptions kHalfPair{.filters = 256, .element = Element::F16, .output = Element::F16};
constexpr PresetOptions kByte{.element = Element::F8E4M3};
constexpr PresetOptions kBytePair{.filters = 256, .element = Element::F8E4M3};

TEST(Conv2dHalf, AgreesOn3x3) { expect_agrees<one_sm_128b(kHalf)>({same2d(1, 9, 17, 64, 128, 3, 3)}); }
TEST(Conv2dHalf, AgreesWith96Channels) { expect_agrees<one_sm_64b(kHalf)>({same2d(1, 9, 17, 96, 136, 3, 3)}); }
TEST(Conv2dHalf, AgreesAsAPair) { expect_agrees<two_sm_128b(kHalfPair)>({same2d(1, 13, 21, 128, 200, 3, 3)}); }
TEST(Conv2dHalf, AgreesAsAPairWith32Channels) {
    expect_agrees<two_sm_64b(kHalfPair)>({same2d(1, 13, 21, 32, 40, 5, 5)});
}
TEST(Conv2dHalf, SumsIntegersExactly) {
    expect_agrees<one_sm_128b(kHalf)>({same2d(1, 9, 17, 64, 128, 1, 3), Numbers::Integers});
}

TEST(Conv2dE4m3, AgreesOn3x3) { expect_agrees<one_sm_128b(kByte)>({same2d(1, 9, 17, 128, 128, 3, 3)}); }
TEST(Conv2dE4m3, AgreesWith64Channels) { expect_agrees<one_sm_64b(kByte)>({same2d(1, 9, 17, 64, 136, 3, 3)}); }
TEST(Conv2dE4m3, AgreesWith32ChannelsOfHalfASpan) {
    expect_agrees<one_sm_64b(kByte)>({same2d(1, 9, 17, 32, 64, 3, 3)});
}
TEST(Conv2dE4m3, AgreesWith96ChannelsThatEndInHalfASpan) {
    expect_agrees<one_sm_64b(kByte)>({same2d(1, 9, 17, 96, 96, 3, 3)});
}
TEST(Conv2dE4m3, AgreesAsAPair) { expect_agrees<two_sm_128b(kBytePair)>({same2d(1, 13, 21, 384, 136, 1, 3)}); }
TEST(Conv2dE4m3, AgreesAsAPairWith192Channels) {
    expect_agrees<two_sm_64b(kBytePair)>({same2d(1, 13, 21, 192, 64, 3, 3)});
}
TEST(Conv2dE4m3, KeepsEveryPositionApart) {
    expect_agrees<one_sm_128b(kByte)>({same2d(2, 9, 13, 128, 72, 3, 3), Numbers::Coded});
}
TEST(Conv2dE4m3, ScalesByTheProductOfTheQuantisationSteps) {
    expect_agrees<one_sm_128b(kByte)>({.shape = same2d(1, 9, 17, 128, 128, 3, 3), .alpha = 0.0078125f});
}

/// Filters over frames, with the clip's first frames or without; those with a source add a residual.
ConvCase drawn_clip(uint32_t seed) {
    std::mt19937 dice(seed);
    const auto draw = [&](int64_t least, int64_t most) {
        return std::uniform_int_distribution<int64_t>(least, most)(dice);
    };
    const int64_t side = 2 * draw(0, 1) + 1;
    ConvCase conv{same2d(1, draw(3, 9), draw(5, 19), 32 * draw(1, 5), 8 * draw(1, 19), side, side)};
    conv.shape.filter.q = draw(1, 3);
    conv.shape.d = conv.shape.filter.q + draw(0, 3);
    conv.shape.pad.front = draw(0, conv.shape.filter.q - 1);
    conv.beta = 0.5f;
    return conv;
}

/// With alpha and a scale for each channel.
class DrawnConv3dE4m3 : public testing::TestWithParam<uint32_t> {};
TEST_P(DrawnConv3dE4m3, AgreesWithItsScales) {
    ConvCase conv = drawn_clip(GetParam());
    conv.scales = true;
    conv.alpha = 0.125f;
    if (GetParam() % 2 == 0) {
        expect_agrees<one_sm_64b({.element = kE4m3, .activation = Activation::Window3d})>(conv);
    } else {
        expect_agrees<two_sm_128b({.element = kE4m3, .activation = Activation::Window3d, .source = Source::Residual})>(
            conv);
    }
}
INSTANTIATE_TEST_SUITE_P(TwentyProblems, DrawnConv3dE4m3, testing::Range(0u, 20u));

/// With strides too, which the halo kernel does not have.
class DrawnConv3dHalf : public testing::TestWithParam<uint32_t> {};
TEST_P(DrawnConv3dHalf, Agrees) {
    constexpr auto kOf = [](uint32_t group, uint32_t span, Activation activation, Source source) {
        return element_config(group, span, Element::F16, source, activation);
    };
    ConvCase conv = drawn_clip(100 + GetParam());
    conv.shape.stride = {1 + GetParam() / 4 % 2, 1 + GetParam() / 8 % 2, 1};
    switch (GetParam() % 4) {
        case 0:
            return expect_agrees<kOf(1, 64, Activation::Window3d, Source::Residual)>(conv);
        case 1:
            return expect_agrees<kOf(2, 128, Activation::Window3d, Source::None)>(conv);
        case 2:
            return expect_agrees<kOf(1, 128, Activation::Volume3d, Source::None)>(conv);
        default:
            return expect_agrees<kOf(2, 64, Activation::Volume3d, Source::Residual)>(conv);
    }
}
INSTANTIATE_TEST_SUITE_P(TwentyProblems, DrawnConv3dHalf, testing::Range(0u, 20u));

/// Two formats of fp8, of which the instruction names each.
constexpr auto kMixed = [](uint32_t group, uint32_t span, Element element, Element filter, Source source = Source::None,
                           Activation activation = Activation::Frames2d) {
    return mixed_config(group, span, element, filter, source, activation);
};
TEST(Conv2dMixed, AgreesWithEveryPairOfFormats) {
    expect_agrees<kMixed(1, 64, kE4m3, kE5m2)>({same2d(1, 9, 17, 96, 136, 3, 3)});
    expect_agrees<kMixed(2, 128, kE5m2, kE4m3)>({same2d(1, 13, 21, 160, 200, 3, 3)});
    expect_agrees<kMixed(1, 64, kE5m2, kE5m2)>({same2d(1, 9, 17, 64, 128, 3, 3)});
}
TEST(Conv2dMixed, SumsIntegersExactly) {
    expect_agrees<kMixed(1, 64, kE5m2, kE4m3)>({same2d(2, 9, 13, 64, 72, 3, 3), Numbers::Integers});
    expect_agrees<kMixed(2, 128, kE4m3, kE5m2)>({same2d(2, 9, 13, 128, 72, 3, 3), Numbers::Integers});
}
class DrawnMixed : public testing::TestWithParam<uint32_t> {};
TEST_P(DrawnMixed, AgreesOverFramesWithItsScales) {
    ConvCase conv = drawn_clip(200 + GetParam());
    conv.scales = true;
    conv.alpha = 0.125f;
    switch (GetParam() % 4) {
        case 0:
            return expect_agrees<kMixed(1, 64, kE4m3, kE5m2, Source::Residual, Activation::Window3d)>(conv);
        case 1:
            return expect_agrees<kMixed(2, 128, kE4m3, kE5m2, Source::None, Activation::Volume3d)>(conv);
        case 2:
            return expect_agrees<kMixed(1, 64, kE5m2, kE4m3, Source::None, Activation::Volume3d)>(conv);
        default:
            return expect_agrees<kMixed(2, 128, kE5m2, kE5m2, Source::Residual, Activation::Window3d)>(conv);
    }
}
INSTANTIATE_TEST_SUITE_P(TwentyProblems, DrawnMixed, testing::Range(0u, 20u));

/// Rows of A and B of different lengths, of 32 to 160 channels: blocks that end in empty slabs of either operand.
class DrawnSwizzles : public testing::TestWithParam<uint32_t> {};
TEST_P(DrawnSwizzles, Agree) {
    ConvCase conv = drawn_clip(300 + GetParam());
    conv.numbers = GetParam() % 3 == 0 ? Numbers::Coded : Numbers::Random;
    const auto image = [&] {
        conv.shape.n = conv.shape.d;
        conv.shape.d = conv.shape.filter.q = 1;
        conv.shape.pad.front = 0;
        return conv;
    };
    switch (GetParam() % 7) {
        case 0:
            return expect_agrees<swizzled_config(1, 128, 64, Activation::Frames2d)>(image());
        case 1:
            return expect_agrees<swizzled_config(2, 64, 128, Activation::Frames2d)>(image());
        case 2:
            return expect_agrees<swizzled_config(1, 128, 32, Activation::Window3d)>(conv);
        case 3:
            return expect_agrees<swizzled_config(2, 32, 128, Activation::Volume3d)>(conv);
        case 4:
            return expect_agrees<swizzled_config(1, 64, 32, Activation::Volume3d)>(conv);
        case 5:
            return expect_agrees<swizzled_config(2, 32, 64, Activation::Window3d)>(conv);
        default:
            return expect_agrees<swizzled_config(1, 32, 32, Activation::Frames2d)>(image());
    }
}
INSTANTIATE_TEST_SUITE_P(TwentyOneProblems, DrawnSwizzles, testing::Range(0u, 21u));
TEST(Conv2dSwizzles, AgreeInFp8WhereAClusterSharesLoads) {
    constexpr PresetOptions kShared{.filters = 64, .element = Element::F8E4M3, .cluster = {2, 2}};
    expect_agrees<preset(1, isa::Swizzle::Span128, isa::Swizzle::Span32, kShared)>({same2d(1, 13, 17, 160, 136, 3, 3)});
    constexpr PresetOptions kPairs{.filters = 128, .cluster = {4, 1}};
    expect_agrees<preset(2, isa::Swizzle::Span64, isa::Swizzle::Span128, kPairs)>({same2d(1, 13, 17, 96, 136, 3, 3)});
}

TEST(Conv2dOutput, StoresFloat32) {
    expect_agrees<one_sm_128b({.output = Element::F32})>({same2d(1, 9, 17, 64, 136, 3, 3)});
    expect_agrees<two_sm_128b({.filters = 128, .output = Element::F32})>({same2d(2, 9, 17, 64, 136, 3, 3)});
}
TEST(Conv2dOutput, StoresBfloat16OfHalfOperands) {
    expect_agrees<one_sm_128b({.element = Element::F16})>({same2d(1, 9, 17, 64, 136, 3, 3)});
}

}  // namespace
}  // namespace kinetograph::sm100
