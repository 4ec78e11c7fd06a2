#include <gtest/gtest.h>

#include <algorithm>
#include <kinetograph/kernels/cuda/sm90/plan.hpp>

#include "model_conv.hpp"

namespace kinetograph::sm90 {
namespace {

using sm80::causal3d;
using sm80::same2d;

struct Layer {
    ConvProblem problem;
    std::string_view tile;
    double milliseconds;  ///< measured with this epilogue on an H200
};

ConvProblem with(ConvProblem p, Norm norm, bool residual) {
    p.norm = norm;
    p.residual = residual;
    p.pad.front = 0;
    return p;
}
ConvProblem upsampled(ConvProblem p) {
    p.upsample = true;
    p.norm = Norm::Beside;
    return p;
}

/// Layers of the Wan 2.1 decoder at 1280x704 with their epilogues: the tile that is chosen, and the model's error;
/// documentation_test.cpp has every layer's without.
TEST(Sm90Cost, ChoosesTheFastestTileOfEveryLayerAndPredictsItWithinATenth) {
    const Layer layers[] = {
        {with(causal3d(3, 88, 160, 384, 384, 3, 3), Norm::None, true), "sm90_conv_bf16_n64_8x40_3_64", 0.142},
        {with(causal3d(4, 176, 320, 384, 384, 3, 3), Norm::None, true), "sm90_conv_bf16_n128_16x8_3_64", 1.075},
        {with(causal3d(4, 176, 320, 192, 384, 3, 3), Norm::None, false), "sm90_conv_bf16_n128_16x8_3_64", 0.534},
        {with(causal3d(6, 352, 640, 192, 192, 3, 3), Norm::Beside, true), "sm90_conv_bf16_n192_16x8_3_64", 2.165},
        {with(causal3d(6, 704, 1280, 96, 96, 3, 3), Norm::Instead, false), "sm90_conv_bf16_n96_32x8_3_32", 2.199},
        {upsampled(same2d(4, 176, 320, 384, 192, 3, 3)), "sm90_conv_bf16_n192_16x8_2_64", 0.705},
    };
    const conv::Chip h200 = chip_of_sms(132);
    for (const Layer& layer : layers) {
        const NamedConvConfig* chosen = choose_config(layer.problem, h200);
        ASSERT_NE(chosen, nullptr);
        EXPECT_EQ(chosen->kernel, layer.tile) << layer.problem.to_string();
        EXPECT_NEAR(conv_seconds(chosen->config, layer.problem, h200) * 1e3 / layer.milliseconds, 1, 0.1)
            << layer.problem.to_string();
    }
}

/// 88 x 160 pixels are 110 x 16 rows of 8, so that six blocks of 192 filters are five tiles for each SM. As an image
/// they would be six rows of tiles of which the last is half empty: 720 tiles, six for most SMs.
TEST(Sm90Cost, TilesWithoutTapsInTheImageWasteNoneOfIt) {
    const ConvProblem widest = same2d(1, 88, 160, 384, 1152, 1, 1);
    const NamedConvConfig* chosen = choose_config(widest, chip_of_sms(132));
    EXPECT_EQ(chosen->kernel, "sm90_conv_bf16_n192_16x8_1_64");
    EXPECT_EQ(conv_tiles(chosen->config, widest), 5 * 132);
    EXPECT_EQ(conv_tiles(chosen->config, same2d(1, 87, 159, 384, 1152, 1, 1)), 720);
}

/// The shortcut of 192 channels, whose products are few, and the last upsampling, whose norm takes long.
TEST(Sm90Cost, EpiloguesOverlapWhereTheyTakeLongerThanProducts) {
    const conv::Chip h200 = chip_of_sms(132);
    const auto chosen = [&](const ConvProblem& p) { return choose_config(p, h200)->kernel; };
    EXPECT_EQ(chosen(same2d(2, 176, 320, 192, 384, 1, 1)), "sm90_conv_bf16_n128_16x8_1_64_overlap");
    ConvProblem last = same2d(4, 352, 640, 192, 96, 3, 3);
    last.upsample = true;
    EXPECT_EQ(chosen(last), "sm90_conv_bf16_n96_32x8_2_64");
    EXPECT_EQ(chosen(upsampled(last)), "sm90_conv_bf16_n96_16x8_2_64_overlap");
}

/// Layers of LightVAE and of the small decoders.
TEST(Sm90Cost, NarrowLayersTakeTilesAsNarrowAsTheyAre) {
    const conv::Chip h200 = chip_of_sms(132);
    const auto chosen = [&](const ConvProblem& p) { return choose_config(p, h200)->kernel; };
    EXPECT_EQ(chosen(causal3d(6, 704, 1280, 24, 24, 3, 3)), "sm90_conv_bf16_n32_32x16_3_32");
    EXPECT_EQ(chosen(with(causal3d(6, 704, 1280, 24, 24, 3, 3), Norm::Beside, true)), "sm90_conv_bf16_n32_32x16_3_32");
    EXPECT_EQ(chosen(with(causal3d(6, 352, 640, 48, 48, 3, 3), Norm::Instead, false)), "sm90_conv_bf16_n48_32x16_3_32");
    EXPECT_EQ(chosen(upsampled(same2d(4, 352, 640, 48, 24, 3, 3))), "sm90_conv_bf16_n32_32x16_2_32");
    EXPECT_EQ(chosen(upsampled(same2d(4, 176, 320, 96, 48, 3, 3))), "sm90_conv_bf16_n48_32x16_2_32");
    ConvProblem grown = same2d(2, 352, 640, 64, 64, 3, 3);
    grown.upsample = true;
    EXPECT_EQ(chosen(grown), "sm90_conv_bf16_n64_32x8_2_64");
}

/// Its pieces would overlap.
TEST(Sm90Cost, ATileOf48FiltersTakesNoProblemOfMore) {
    for (const NamedConvConfig& named : conv_configs()) {
        const bool refuses = named.config.bn == 48;
        EXPECT_FALSE(refuses && fits(named.config, same2d(1, 64, 64, 96, 96, 3, 3))) << named.kernel;
    }
    EXPECT_EQ(choose_config(same2d(1, 704, 1280, 96, 96, 3, 3), chip_of_sms(132))->kernel,
              "sm90_conv_bf16_n96_32x8_3_32");
}

TEST(Sm90Cost, NoTileHoldsMoreChannelsForANormThanTheWidest) {
    EXPECT_NE(choose_config(with(same2d(1, 8, 8, 64, 192, 3, 3), Norm::Beside, false), chip_of_sms(132)), nullptr);
    EXPECT_EQ(choose_config(with(same2d(1, 8, 8, 64, 200, 3, 3), Norm::Beside, false), chip_of_sms(132)), nullptr);
}

/// Tiles that a person may name, to be measured beside the chosen one.
TEST(Sm90Cost, EveryTileThatFitsIsThereByNameCheapestFirst) {
    const conv::Chip h200 = chip_of_sms(132);
    const ConvProblem p = with(causal3d(6, 352, 640, 128, 128, 3, 3), Norm::Beside, false);
    const auto kernels_of = [&](std::string_view method) {
        const auto found = std::ranges::find(methods(), method, &conv::ConvMethod::name);
        const std::vector<std::string_view> kernels = found->choice.kernels(p, h200);
        EXPECT_EQ(kernels.front(), found->plan(p, h200).kernels.front().kernel) << method;
        double before = 0;
        for (const std::string_view kernel : kernels) {
            const conv::ConvPlan plan = found->choice.plan(p, h200, kernel);
            EXPECT_EQ(plan.kernels.front().kernel, kernel);
            EXPECT_GE(plan.seconds, before) << kernel;
            before = plan.seconds;
            const bool all_filters = kernel.find("_n128_") != kernel.npos || kernel.find("_n192_") != kernel.npos;
            EXPECT_EQ(plan.kernels.size(), all_filters ? 1U : 2U) << kernel << ": others need a pass for the norm";
        }
        return kernels.size();
    };
    EXPECT_EQ(kernels_of("implicit-gemm-sm90"), 5U);
    EXPECT_EQ(kernels_of("winograd-time-sm90"), 3U);
    EXPECT_EQ(kernels_of("q-slice-sm90"), 3U);
}

TEST(Sm90Cost, BlocksOfChannelsFollowFromTheInputAlone) {
    for (const int64_t c_in : {8, 64, 96, 192, 320}) {
        for (const NamedConvConfig& named : conv_configs()) {
            const ConvProblem p = same2d(1, 8, 8, c_in, 64, 3, 3);
            if (!fits(named.config, p)) continue;
            EXPECT_EQ(named.config.channels, c_in % 64 == 0 ? 64u : 32u) << named.kernel;
        }
    }
}

}  // namespace
}  // namespace kinetograph::sm90
