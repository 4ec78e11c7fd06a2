#include <gtest/gtest.h>

#include <kinetograph/kernels/cuda/sm80/conv_configs.hpp>

#include "model_conv.hpp"

namespace kinetograph::sm80 {
namespace {

constexpr std::string_view kSmall = "sm80_conv_bf16_64x64";

void expect_agrees(const ConvCase& conv, std::string_view kernel = kSmall) {
    EXPECT_EQ(disagreement(conv, kernel), "");
}

TEST(Conv, AgreesOn3x3) { expect_agrees({same2d(1, 9, 15, 32, 64, 3, 3)}); }
TEST(Conv, AgreesWith96Channels) { expect_agrees({same2d(1, 7, 11, 96, 96, 3, 3)}); }
TEST(Conv, AgreesWith16ChannelsOfWhichTwoTapsShareABlock) { expect_agrees({same2d(1, 7, 11, 16, 64, 3, 3)}); }
TEST(Conv, AgreesWith48Channels) { expect_agrees({same2d(1, 7, 11, 48, 64, 3, 3)}); }
TEST(Conv, AgreesWith8ChannelsOfWhichFourTapsShareABlock) { expect_agrees({same2d(1, 7, 11, 8, 24, 3, 3)}); }
TEST(Conv, AgreesOn1x1) { expect_agrees({same2d(2, 9, 9, 64, 72, 1, 1)}); }
TEST(Conv, AgreesWithOneFilter) { expect_agrees({same2d(1, 5, 9, 32, 1, 3, 3)}); }
TEST(Conv, AgreesWithAnOddNumberOfFilters) { expect_agrees({same2d(1, 5, 9, 32, 77, 3, 3)}); }
TEST(Conv, AgreesOn5x1And1x7) {
    expect_agrees({same2d(1, 9, 9, 32, 64, 5, 1)});
    expect_agrees({same2d(1, 9, 9, 32, 64, 1, 7)});
}
TEST(Conv, AgreesWithAnEvenFilter) { expect_agrees({same2d(1, 9, 9, 32, 64, 2, 4)}); }
TEST(Conv, AgreesWithAnImageSmallerThanTheFilter) { expect_agrees({same2d(1, 2, 1, 32, 64, 5, 5)}); }

TEST(Conv, AgreesWithStrideAndPaddingOnOneSide) {
    ConvProblem shape = same2d(1, 12, 13, 32, 64, 3, 3);
    shape.stride = {1, 2, 2};
    shape.pad = {0, 0, 0, 1, 0, 1};
    expect_agrees({shape});
}
TEST(Conv, AgreesWithDilation) {
    ConvProblem shape = same2d(1, 12, 13, 32, 64, 3, 3);
    shape.dilation = {1, 2, 3};
    shape.pad = {0, 0, 2, 2, 3, 3};
    expect_agrees({shape});
}

TEST(Conv, SumsIntegersExactly) { expect_agrees({same2d(1, 9, 15, 96, 64, 3, 3), {}, Numbers::Integers}); }
TEST(Conv, PutsEveryTapAndChannelWhereItBelongs) {
    expect_agrees({same2d(2, 9, 15, 48, 64, 3, 3), {}, Numbers::Coded});
    expect_agrees({causal3d(4, 5, 9, 32, 64, 3, 3), {}, Numbers::Coded});
}

TEST(ConvCausal, AgreesOn3x3x3) { expect_agrees({causal3d(4, 5, 9, 32, 64, 3, 3)}); }
TEST(ConvCausal, AgreesOn3x1x1With96Channels) { expect_agrees({causal3d(3, 7, 9, 96, 96, 3, 1)}); }
TEST(ConvCausal, AgreesWithHistoryInPlaceOfPadding) {
    ConvProblem shape = causal3d(6, 5, 9, 32, 64, 3, 3);  // 2 frames of history, 4 new ones, at shuffled addresses
    shape.pad.front = 0;
    expect_agrees({shape});
}
TEST(ConvCausal, AgreesWithStrideAndDilationInTime) {
    ConvProblem shape = causal3d(7, 5, 5, 32, 64, 3, 1);
    shape.stride.d = 2;
    shape.dilation.d = 2;
    shape.pad.front = 3;
    expect_agrees({shape});
}
TEST(ConvCausal, AgreesWithTwoSamples) {
    ConvProblem shape = causal3d(3, 5, 5, 32, 64, 3, 3);
    shape.n = 2;
    expect_agrees({shape});
}
TEST(ConvCausal, AnOutputFrameWhoseTapsAllMeetPaddingIsTheBias) {
    ConvProblem shape = causal3d(2, 5, 5, 32, 64, 2, 1);
    shape.pad.front = 3;
    shape.pad.back = 2;
    expect_agrees({shape});
}
TEST(ConvCausal, MoreFramesThanOneLaunchHolds) {
    const ConvCase conv{causal3d(40, 3, 3, 8, 8, 3, 1), {}, Numbers::Coded};
    EXPECT_EQ(ConvNumbers(conv).launches(conv_configs()[0].config).size(), 2u);  // 64 frame taps: 21 frames of 3
    expect_agrees(conv);
}

TEST(ConvChannels, AnyNumberIsTaken) {
    for (int64_t c_in : {1, 2, 3, 5, 6, 12, 20, 33, 100}) {
        EXPECT_EQ(disagreement({same2d(1, 5, 7, c_in, 16, 3, 3)}), "") << c_in;
    }
}
TEST(ConvChannels, ThreeOddChannelsSumExactlyInTime) {
    EXPECT_EQ(disagreement({causal3d(3, 5, 7, 3, 96, 3, 3), {}, Numbers::Integers}), "");
    EXPECT_EQ(disagreement({causal3d(3, 5, 7, 6, 96, 3, 3), {}, Numbers::Coded}), "");
}

TEST(ConvEpilogue, AppliesSiluBeforeTheResidual) {
    expect_agrees({same2d(1, 7, 9, 32, 72, 3, 3), {.silu = true, .beta = 0.5f}, Numbers::Random, true, true});
}
TEST(ConvEpilogue, WithoutBias) { expect_agrees({same2d(1, 7, 9, 32, 64, 3, 3), {}, Numbers::Random, false}); }
TEST(ConvEpilogue, AddsTheResidualExactly) {
    expect_agrees({same2d(1, 7, 9, 32, 64, 3, 3), {.beta = 2}, Numbers::Integers, true, true});
    expect_agrees({same2d(1, 7, 9, 32, 33, 3, 3), {.beta = 2}, Numbers::Integers, true, true});
}
TEST(ConvEpilogue, TheHeadStores3ChannelsInFloat32) {
    EXPECT_EQ(disagreement({causal3d(3, 9, 11, 96, 3, 3, 3), {.float32 = true}}), "");
    EXPECT_EQ(disagreement({causal3d(3, 9, 11, 96, 3, 3, 3), {.float32 = true}, Numbers::Integers}), "");
}
TEST(ConvEpilogue, Float32WithResidual) {
    expect_agrees({same2d(1, 7, 9, 32, 64, 3, 3), {.silu = true, .float32 = true}, Numbers::Random, true, true});
}

TEST(ConvNorm, BesideAndInsteadOfTheOutput) {
    for (const Norm norm : {Norm::Beside, Norm::Instead}) {
        for (const bool silu : {true, false}) {
            expect_agrees({same2d(1, 9, 9, 32, 64, 3, 3), {.norm = norm, .norm_silu = silu}});
        }
    }
}
TEST(ConvNorm, Of96And192ChannelsInTheirTiles) {
    expect_agrees({same2d(1, 9, 17, 32, 96, 3, 3), {.norm = Norm::Beside}}, "sm80_conv_bf16_128x96");
    expect_agrees({same2d(1, 9, 17, 32, 192, 1, 1), {.norm = Norm::Beside}}, "sm80_conv_bf16_64x192");
}
TEST(ConvNorm, AfterTheResidualAndOfFewerChannelsThanTheTile) {
    expect_agrees({same2d(1, 9, 9, 32, 45, 3, 3), {.silu = true, .norm = Norm::Beside}, Numbers::Random, true, true});
}
TEST(ConvNorm, APixelOfZerosStaysZero) {
    ConvCase conv{same2d(1, 4, 4, 32, 64, 1, 1), {.norm = Norm::Beside, .norm_silu = false}, Numbers::Coded, false};
    ConvNumbers numbers(conv);
    for (size_t i = 0; i < 32; ++i) store_value(Element::BF16, numbers.input.frame(0), i, 0);
    EXPECT_EQ(run_kernel(kSmall, numbers.launches(bf16_64x64), 1), "");
    for (size_t k = 0; k < 64; ++k) EXPECT_EQ(load_value(Element::BF16, numbers.normed.frame(0), k), 0);
}

TEST(ConvUpsample, Nearest2xIsFoldedIntoTheLoader) {
    ConvProblem shape = same2d(1, 5, 7, 32, 48, 3, 3);
    shape.upsample = true;
    shape.pad = {0, 0, 1, 1, 2, 0};  // no sub-pixels
    expect_agrees({shape}, "sm80_conv_bf16_64x64_by4");
    expect_agrees({shape, {}, Numbers::Coded}, "sm80_conv_bf16_64x64_by4");
}
TEST(ConvUpsample, FourFiltersOnTheSmallImageGiveTheSame) {
    ConvProblem shape = same2d(1, 5, 7, 32, 48, 3, 3);
    shape.upsample = true;
    expect_agrees({shape});
    expect_agrees({shape, {}, Numbers::Integers});
    expect_agrees({shape, {}, Numbers::Coded});
}
TEST(ConvUpsample, SubPixelsInTimeWithResidualAndNorm) {
    ConvProblem shape = causal3d(3, 4, 5, 16, 64, 3, 3);
    shape.upsample = true;
    expect_agrees({shape, {.silu = true, .norm = Norm::Beside}, Numbers::Random, true, true});
}

TEST(ConvSlices, AddTheirSumsIntoAFloat32Buffer) {
    expect_agrees({same2d(1, 7, 9, 32, 64, 3, 3), {.float32 = true}, Numbers::Integers, false, false, true});
    expect_agrees({same2d(1, 7, 9, 32, 33, 3, 3), {.float32 = true}, Numbers::Integers, false, false, true});
    expect_agrees({same2d(1, 7, 9, 32, 64, 3, 3), {.silu = true}, Numbers::Random, true, true, true});
}
TEST(ConvSlices, AddInPlace) {
    const ConvCase conv{same2d(1, 7, 9, 32, 64, 3, 3), {.float32 = true}, Numbers::Integers, false, false, true};
    ConvNumbers numbers(conv);
    auto launches = numbers.launches(bf16_64x64);
    numbers.output = numbers.addend;
    for (ConvLaunch& launch : launches) {
        auto params = launch.arguments.as<ConvParams>();
        params.output[0] = numbers.output.frame(0);
        params.addend[0] = numbers.output.frame(0);
        launch.arguments = conv::Arguments::of(params);
    }
    EXPECT_EQ(run_kernel(kSmall, launches, 2), "");
    EXPECT_EQ(numbers.judge(), "");
}

TEST(ConvTile, EveryTileAgreesAlsoWhenRagged) {
    for (const NamedConvConfig& named : conv_configs()) {
        const int64_t c_in = named.config.copy_bytes == 16 ? 40 : named.config.copy_bytes == 4 ? 10 : 5;
        ConvProblem shape = same2d(1, 9, 31, c_in, named.config.bn + 8, 3, 1);
        shape.input = shape.weight = named.config.element;
        EXPECT_EQ(disagreement({shape, {.silu = true}, Numbers::Random, true, true}, named.kernel, 1), "");
        EXPECT_EQ(disagreement({shape, {}, Numbers::Integers}, named.kernel, 1), "");
    }
}

TEST(ConvEmpty, NothingToComputeIsNothingToLaunch) {
    for (ConvProblem shape : {same2d(0, 4, 4, 8, 8, 3, 3), same2d(1, 0, 4, 8, 8, 3, 3), same2d(1, 4, 4, 8, 0, 3, 3)}) {
        ConvNumbers numbers({shape});
        EXPECT_TRUE(numbers.launches(bf16_64x64).empty());
    }
}

}  // namespace
}  // namespace kinetograph::sm80
