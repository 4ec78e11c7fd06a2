#include "model_conv.hpp"

/// One CTA an MMA, both swizzles: filter sizes, ragged edges, channel counts, ring lengths, tile orders.
namespace kinetograph::sm100 {
namespace {

constexpr Conv2dConfig k128b = one_sm_128b(), k64b = one_sm_64b();

TEST(Conv2dOneSm, AgreesOnAWholeTileOfA1x1Filter) { expect_agrees<k128b>({same2d(1, 8, 16, 64, 128, 1, 1)}); }
TEST(Conv2dOneSm, AgreesOn3x3WithRaggedPixels) { expect_agrees<k128b>({same2d(1, 9, 17, 64, 128, 3, 3)}); }
TEST(Conv2dOneSm, AgreesOn3x3WithRaggedFilters) { expect_agrees<k128b>({same2d(2, 7, 11, 128, 200, 3, 3)}); }
TEST(Conv2dOneSm, AgreesOn5x5WithoutBias) {
    expect_agrees<k128b>({.shape = same2d(1, 7, 19, 64, 64, 5, 5), .bias = false});
}
TEST(Conv2dOneSm, AgreesOn7x7) { expect_agrees<k128b>({same2d(1, 10, 13, 64, 40, 7, 7)}); }
TEST(Conv2dOneSm, AgreesOn7x1) { expect_agrees<k128b>({same2d(1, 12, 12, 64, 128, 7, 1)}); }
TEST(Conv2dOneSm, AgreesWith384Channels) { expect_agrees<k128b>({same2d(1, 6, 22, 384, 128, 3, 3)}); }
TEST(Conv2dOneSm, AgreesWithEightFilters) { expect_agrees<k128b>({same2d(1, 9, 15, 64, 8, 3, 3)}); }
TEST(Conv2dOneSm, AgreesWith96ChannelsThatEndInHalfASpan) { expect_agrees<k128b>({same2d(1, 9, 15, 96, 96, 3, 3)}); }
TEST(Conv2dOneSm, AgreesOnASinglePixel) { expect_agrees<k128b>({same2d(1, 1, 1, 64, 128, 3, 3)}); }
TEST(Conv2dOneSm, AgreesOnManyTilesOfManyImages) { expect_agrees<k128b>({same2d(5, 10, 14, 64, 264, 1, 1)}); }
TEST(Conv2dOneSm, AgreesOnRowsNarrowerThanATile) { expect_agrees<k128b>({same2d(3, 40, 3, 64, 128, 3, 3)}); }

TEST(Conv2dOneSm, KeepsEveryPositionApart) {
    expect_agrees<k128b>({same2d(2, 9, 13, 64, 72, 3, 3), Numbers::Coded});
    expect_agrees<k64b>({same2d(2, 9, 13, 96, 96, 3, 3), Numbers::Coded});
}
TEST(Conv2dOneSm, SumsIntegersExactly) {
    expect_agrees<k128b>({same2d(1, 10, 20, 64, 128, 5, 5), Numbers::Integers});
    expect_agrees<k64b>({same2d(1, 10, 20, 32, 128, 5, 5), Numbers::Integers});
}

TEST(Conv2dOneSm64b, AgreesWith32Channels) { expect_agrees<k64b>({same2d(1, 9, 17, 32, 128, 3, 3)}); }
TEST(Conv2dOneSm64b, AgreesWith96Channels) { expect_agrees<k64b>({same2d(1, 9, 17, 96, 128, 3, 3)}); }
TEST(Conv2dOneSm64b, AgreesWith160ChannelsOfA1x1Filter) { expect_agrees<k64b>({same2d(2, 7, 11, 160, 136, 1, 1)}); }
TEST(Conv2dOneSm64b, AgreesWith96FiltersOf96Channels) {
    expect_agrees<one_sm_64b({.filters = 96})>({same2d(1, 12, 23, 96, 96, 3, 3)});
}

TEST(Conv2dOneSm, AgreesWith64FiltersATile) {
    expect_agrees<one_sm_128b({.filters = 64})>({same2d(1, 9, 17, 64, 72, 3, 3)});
}
TEST(Conv2dOneSm, AgreesWith192FiltersATile) {
    expect_agrees<one_sm_128b({.filters = 192})>({same2d(1, 9, 17, 64, 384, 3, 3)});
}
TEST(Conv2dOneSm, AgreesWith256FiltersATile) {
    expect_agrees<one_sm_128b({.filters = 256})>({same2d(1, 9, 17, 64, 232, 3, 3)});
}

ConvProblem stepped(int64_t step, int64_t dilation) {
    ConvProblem shape = same2d(2, 15, 18, 64, 64, 3, 3);
    shape.stride = {1, step, step};
    shape.dilation = {1, dilation, dilation};
    return shape;
}
TEST(Conv2dOneSm, AgreesWithStrideTwo) { expect_agrees<k128b>({stepped(2, 1)}); }
TEST(Conv2dOneSm, AgreesWithStrideThreeAndDilationTwo) { expect_agrees<k128b>({stepped(3, 2)}); }
TEST(Conv2dOneSm, AgreesWithPaddingOnOneSideOnly) {
    ConvProblem shape = same2d(1, 16, 17, 64, 64, 3, 3);
    shape.stride = {1, 2, 2};
    shape.pad = {0, 0, 0, 1, 0, 1};
    expect_agrees<k128b>({shape});
}
TEST(Conv2dOneSm, AgreesWithDifferentStepsAlongRowsAndColumns) {
    ConvProblem shape = same2d(2, 13, 22, 64, 64, 3, 5);
    shape.stride = {1, 1, 2};
    shape.dilation = {1, 2, 1};
    expect_agrees<k128b>({.shape = shape, .numbers = Numbers::Coded});
}

/// Parity faults show one lap later: as many k blocks as the ring has stages, one less, one more, twice as many.
TEST(Conv2dOneSm, AgreesForEveryLengthOfKAroundTheRing) {
    constexpr uint32_t kStages = 3;
    constexpr auto kShort = [] {
        Conv2dConfig config = one_sm_128b();
        config.stages = kStages;
        return config;
    }();
    for (const int64_t blocks : {1u, kStages - 1, kStages, kStages + 1, 2 * kStages}) {
        SCOPED_TRACE(blocks);
        expect_agrees<kShort>({same2d(3, 8, 16, 64 * blocks, 128, 1, 1)});
    }
}
TEST(Conv2dOneSm, AgreesWhenAStageHoldsThreeBlocksAndTheLastOneFewer) {
    constexpr auto kGrouped = [] {
        Conv2dConfig config = one_sm_64b();
        config.k_group = 3;
        return with_most_stages(config);
    }();
    expect_agrees<kGrouped>({same2d(1, 9, 17, 96, 128, 3, 3)});   // 27 blocks: nine full stages
    expect_agrees<kGrouped>({same2d(2, 12, 16, 64, 128, 2, 2)});  // 8 blocks: the third stage holds two
}
TEST(Conv2dOneSm, AgreesWhateverTheOrderOfTiles) {
    ConvCase conv{same2d(3, 10, 15, 64, 320, 1, 1), Numbers::Coded};  // 4 x 3 tiles
    for (const uint32_t panel : {2u, 3u, 4u, 9u}) {
        conv.panel = panel;
        expect_agrees<k128b>(conv);
    }
}
TEST(Conv2dOneSm, AgreesWithOneAccumulatorAndOneStagingTile) {
    constexpr auto kSingle = [] {
        Conv2dConfig config = one_sm_128b();
        config.accumulator_stages = config.output_stages = 1;
        config.scheduler_stages = 3;
        return with_most_stages(config);
    }();
    expect_agrees<kSingle>({same2d(3, 10, 15, 64, 136, 1, 1)});
}

TEST(Conv2dOneSm, LaunchesNothingForAProblemOfSizeZero) {
    for (const auto& shape :
         {same2d(0, 8, 8, 64, 64, 3, 3), same2d(1, 0, 8, 64, 64, 3, 3), same2d(1, 8, 8, 64, 0, 3, 3)}) {
        EXPECT_TRUE(plan_launch(k128b, shape, {}).empty());
    }
    ConvProblem larger = same2d(1, 4, 4, 64, 64, 7, 7);
    larger.pad = {};
    EXPECT_TRUE(plan_launch(k128b, larger, {}).empty());
}

}  // namespace
}  // namespace kinetograph::sm100
