#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <kinetograph/kernels/cuda/sm90/winograd_frames.hpp>

#include "model_conv.hpp"

namespace kinetograph::sm90 {
namespace {

using sm80::causal3d;

class EveryWinogradTile : public testing::TestWithParam<std::string_view> {};

/// A problem that just overflows the tile: more rows and columns than one holds, not all of its filters.
TEST_P(EveryWinogradTile, AgreesWithFp64OnARaggedImage) {
    const auto configs = winograd_configs();
    const auto named = std::ranges::find(configs, GetParam(), &NamedWinogradConfig::kernel);
    ASSERT_NE(named, configs.end());
    const ConvConfig tile = whole(named->config);
    ConvCase conv{causal3d(4, tile_rows(tile) + 3, tile_columns(tile) + 4, 40, tile.bn - 8, 3, 3)};
    conv.shape.input = conv.shape.weight = tile.element;
    conv.shape.pad.front = 0;  // two frames out of four
    conv.residual = true;
    conv.epilogue.norm = Norm::Beside;
    EXPECT_EQ(winograd_disagreement(conv, GetParam(), 1), "");
}

/// Index codes: positions, channels and filters of the second tile come out in their places.
TEST_P(EveryWinogradTile, TakesMoreFiltersThanItHolds) {
    const auto configs = winograd_configs();
    const auto named = std::ranges::find(configs, GetParam(), &NamedWinogradConfig::kernel);
    ASSERT_NE(named, configs.end());
    ConvCase conv{causal3d(4, 9, 10, 40, named->config.bn + 8, 3, 3)};
    conv.shape.input = conv.shape.weight = named->config.element;
    conv.numbers = Numbers::Coded;
    EXPECT_EQ(winograd_disagreement(conv, GetParam(), 1), "");
}

INSTANTIATE_TEST_SUITE_P(Each, EveryWinogradTile,
                         testing::Values("sm90_winograd_bf16_n96_16x8", "sm90_winograd_bf16_n128_16x8",
                                         "sm90_winograd_bf16_n192_16x8", "sm90_winograd_bf16_n192_8x16",
                                         "sm90_winograd_f16_n96_16x8"));

TEST(Winograd, IntegersComeOutBitForBit) {
    ConvCase conv{causal3d(4, 9, 11, 64, 72, 3, 3)};
    conv.numbers = Numbers::Integers;
    conv.residual = true;
    EXPECT_EQ(winograd_disagreement(conv), "");
}

TEST(Winograd, PositionsFramesAndTapsAreNotSwapped) {
    ConvCase conv{causal3d(4, 17, 10, 32, 96, 3, 3)};
    conv.numbers = Numbers::Coded;
    EXPECT_EQ(winograd_disagreement(conv), "");
    EXPECT_EQ(winograd_disagreement(conv, "sm90_winograd_bf16_n128_16x8", 1), "");
    EXPECT_EQ(winograd_disagreement(conv, "sm90_winograd_bf16_n192_16x8", 1), "");
}

TEST(Winograd, TheLastOfAnOddNumberOfFramesIsComputedAlone) {
    for (const int64_t frames : {3, 5}) {
        ConvCase conv{causal3d(frames, 9, 8, 32, 32, 3, 3)};
        conv.numbers = Numbers::Integers;
        conv.epilogue.norm = Norm::Beside;
        conv.residual = true;
        EXPECT_EQ(winograd_disagreement(conv), "") << frames;
    }
}

/// Three blocks of channels and three places: a pair's operands take the slots of phase 0 one and a half times.
TEST(Winograd, AWarpgroupPassesOverPairsAndFramesAlone) {
    for (const int64_t frames : {3, 5}) {
        ConvCase conv{causal3d(frames, 35, 9, 96, 96, 3, 3)};
        conv.numbers = Numbers::Integers;
        conv.residual = true;
        EXPECT_EQ(winograd_disagreement(conv, "sm90_winograd_bf16_n96_16x8", 1), "") << frames;
    }
}

TEST(Winograd, FramesOfPaddingAreZerosBeforeAndAfter) {
    ConvCase conv{causal3d(2, 8, 8, 32, 32, 3, 3)};
    conv.numbers = Numbers::Integers;
    EXPECT_EQ(winograd_disagreement(conv), "");
    conv.shape.pad.back = 2;
    EXPECT_EQ(winograd_disagreement(conv), "");
}

TEST(Winograd, SamplesDoNotShareAPair) {
    ConvCase conv{causal3d(3, 8, 8, 32, 32, 3, 3)};
    conv.shape.n = 2;
    EXPECT_EQ(winograd_disagreement(conv, "", 1), "");
}

TEST(Winograd, MoreFramesThanALaunchHoldsAreSeveralLaunchesOfWholePairs) {
    const auto runs = pair_runs(causal3d(15, 8, 8, 32, 32, 3, 3));
    ASSERT_EQ(runs.size(), 3u);
    int64_t outputs = 0;
    for (const PairRun& run : runs) {
        EXPECT_EQ(run.first_output, outputs);
        EXPECT_LE(run.outputs, kMaxOutputs);
        EXPECT_LE(run.inputs, kMaxInputs);
        EXPECT_EQ(run.first_output % 2, 0);
        outputs += run.outputs;
    }
    EXPECT_EQ(outputs, 15);
    EXPECT_EQ(runs[2].pair[runs[2].pairs - 1].outputs, 1);
    EXPECT_EQ(winograd_disagreement({causal3d(15, 8, 8, 32, 32, 3, 3)}, "", 1), "");
}

TEST(Winograd, HistoryIsReadWhereItLies) {
    const auto runs = pair_runs([] {
        ConvProblem p = causal3d(6, 8, 8, 32, 32, 3, 3);
        p.pad.front = 0;
        return p;
    }());
    ASSERT_EQ(runs.size(), 1u);
    ASSERT_EQ(runs[0].pairs, 2u);
    const auto inputs = [&](size_t pair) {
        return std::vector<int>(runs[0].pair[pair].input, runs[0].pair[pair].input + 4);
    };
    EXPECT_EQ(inputs(0), (std::vector{0, 1, 2, 3}));
    EXPECT_EQ(inputs(1), (std::vector{2, 3, 4, 5}));
}

struct Measured {
    ConvProblem problem;
    std::string_view tile;
    double milliseconds;  ///< alone on an H200 (declared_h200_1280x704.json, conv_h200_1280x704.json); 0: not measured
};

/// A decoder's layer with its epilogue; of the Wan 2.1 decoder at 1280x704 unless said otherwise.
ConvProblem measured_layer(int64_t frames, int64_t h, int64_t w, int64_t c_in, int64_t k, Norm norm, bool residual) {
    ConvProblem p = causal3d(frames + 2, h, w, c_in, k, 3, 3);
    p.pad.front = 0;
    p.norm = norm;
    p.residual = residual;
    return p;
}

TEST(Winograd, TheTilesOfADecodersLayersAndTheirTimesArePredicted) {
    const Measured layers[] = {
        {measured_layer(4, 704, 1280, 96, 96, Norm::Instead, false), "sm90_winograd_bf16_n96_16x8", 1.678},
        {measured_layer(4, 704, 1280, 96, 96, Norm::Beside, true), "sm90_winograd_bf16_n96_16x8", 1.833},
        {measured_layer(4, 352, 640, 192, 192, Norm::Instead, false), "sm90_winograd_bf16_n192_16x8", 1.570},
        {measured_layer(4, 352, 640, 192, 192, Norm::Beside, true), "sm90_winograd_bf16_n192_16x8", 1.661},
        {measured_layer(2, 176, 320, 384, 384, Norm::None, true), "sm90_winograd_bf16_n192_16x8", 0.747},
        {measured_layer(2, 120, 208, 384, 384, Norm::None, true), "sm90_winograd_bf16_n192_8x16", 0},
        {measured_layer(2, 176, 320, 192, 384, Norm::None, false), "sm90_winograd_bf16_n192_16x8", 0.380},
        // Of Wan 2.2's, at 1280x704 and 832x480.
        {measured_layer(2, 88, 160, 1024, 1024, Norm::None, true), "sm90_winograd_bf16_n192_8x16", 0},
        {measured_layer(2, 60, 104, 1024, 1024, Norm::None, true), "sm90_winograd_bf16_n128_16x8", 0},
        {measured_layer(4, 176, 320, 512, 512, Norm::None, true), "sm90_winograd_bf16_n128_16x8", 0},
        {measured_layer(4, 352, 640, 256, 256, Norm::None, true), "sm90_winograd_bf16_n128_16x8", 0},
    };
    const conv::Chip h200 = chip_of_sms(132);
    for (const Measured& layer : layers) {
        const NamedWinogradConfig* chosen = choose_winograd_config(layer.problem, h200);
        ASSERT_NE(chosen, nullptr);
        EXPECT_EQ(chosen->kernel, layer.tile) << layer.problem.to_string();
        if (layer.milliseconds == 0) continue;
        const double error = winograd_seconds(chosen->config, layer.problem, h200) * 1e3 / layer.milliseconds - 1;
        EXPECT_LT(std::abs(error), 0.05) << layer.problem.to_string();
    }
}

}  // namespace
}  // namespace kinetograph::sm90
