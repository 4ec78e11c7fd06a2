#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <kinetograph/kernels/cuda/sm90/conv_configs.hpp>

#include "model_conv.hpp"

namespace kinetograph::sm90 {
namespace {

using sm80::causal3d;
using sm80::same2d;

/// A problem that just overflows the tile: more rows, columns and filters than one holds, halo on every side.
ConvCase ragged_case(const ConvConfig& c) {
    const int64_t taps = c.side == 2 ? 3 : c.side;
    ConvCase conv;
    conv.shape = same2d(1, tile_rows(c) + 3, tile_columns(c) + 4, c.channels == 64 ? 64 : 40, c.bn - 8, taps, taps);
    conv.shape.upsample = c.side == 2;
    conv.shape.input = conv.shape.weight = c.element;
    return conv;
}

class EveryTile : public testing::TestWithParam<std::string_view> {};

TEST_P(EveryTile, AgreesWithFp64OnARaggedImage) {
    const auto configs = conv_configs();
    const auto named = std::ranges::find(configs, GetParam(), &NamedConvConfig::kernel);
    ASSERT_NE(named, configs.end());
    ConvCase conv = ragged_case(named->config);
    conv.residual = true;
    conv.epilogue.norm = Norm::Beside;
    EXPECT_EQ(tile_disagreement(conv, GetParam(), 1), "");
}

INSTANTIATE_TEST_SUITE_P(Bf16, EveryTile,
                         testing::Values("sm90_conv_bf16_n32_32x16_3_32", "sm90_conv_bf16_n48_32x16_3_32",
                                         "sm90_conv_bf16_n64_8x40_3_64", "sm90_conv_bf16_n64_32x8_3_32",
                                         "sm90_conv_bf16_n96_32x8_3_32", "sm90_conv_bf16_n96_32x8_3_64",
                                         "sm90_conv_bf16_n128_16x8_3_64", "sm90_conv_bf16_n128_24x8_3_64",
                                         "sm90_conv_bf16_n128_16x8_3_32", "sm90_conv_bf16_n192_16x8_3_64",
                                         "sm90_conv_bf16_n32_32x16_2_32", "sm90_conv_bf16_n48_32x16_2_32",
                                         "sm90_conv_bf16_n64_32x8_2_64", "sm90_conv_bf16_n96_32x8_2_64",
                                         "sm90_conv_bf16_n96_16x8_2_64_overlap", "sm90_conv_bf16_n96_32x8_2_32",
                                         "sm90_conv_bf16_n192_16x8_2_64", "sm90_conv_bf16_n96_32x8_1_32",
                                         "sm90_conv_bf16_n128_16x8_1_64_overlap", "sm90_conv_bf16_n128_24x8_1_64",
                                         "sm90_conv_bf16_n192_16x8_1_64"));
INSTANTIATE_TEST_SUITE_P(F16, EveryTile,
                         testing::Values("sm90_conv_f16_n96_32x8_3_32", "sm90_conv_f16_n128_24x8_1_64"));

/// Four tiles for each CTA, with all that uses staging buffers.
TEST(Sm90Conv, EpiloguesOverlapWhereEachWarpgroupHasBuffersOfItsOwn) {
    ConvCase conv{same2d(3, 20, 24, 128, 120, 1, 1)};
    conv.residual = true;
    conv.epilogue.norm = Norm::Beside;
    EXPECT_EQ(tile_disagreement(conv, "sm90_conv_bf16_n128_16x8_1_64_overlap"), "");
    ConvCase upsampled{same2d(1, 20, 12, 64, 96, 3, 3)};
    upsampled.shape.upsample = true;
    upsampled.epilogue.norm = Norm::Beside;
    EXPECT_EQ(tile_disagreement(upsampled, "sm90_conv_bf16_n96_16x8_2_64_overlap"), "");
}

TEST(Sm90Conv, IntegersComeOutBitForBit) {
    ConvCase conv{causal3d(3, 9, 11, 64, 72, 3, 3)};
    conv.numbers = Numbers::Integers;
    conv.residual = true;
    EXPECT_EQ(tile_disagreement(conv), "");
}

TEST(Sm90Conv, PositionsAndTapsAreNotSwapped) {
    for (const bool upsample : {false, true}) {
        ConvCase conv{same2d(1, 10, 13, 32, 96, 3, 3)};
        conv.shape.upsample = upsample;
        conv.numbers = Numbers::Coded;
        EXPECT_EQ(tile_disagreement(conv), "") << "upsample " << upsample;
    }
}

TEST(Sm90Conv, FramesBeforeTheFirstAreSkipped) {
    EXPECT_EQ(tile_disagreement({causal3d(1, 8, 8, 64, 64, 3, 3)}), "");
    EXPECT_EQ(tile_disagreement({causal3d(5, 8, 8, 32, 32, 3, 1)}), "");
}

TEST(Sm90Conv, AnOutputFrameWhoseTapsAllMeetThePaddingIsItsBias) {
    ConvCase conv{causal3d(1, 8, 9, 64, 64, 2, 3)};
    conv.shape.pad.front = 2;  // output frames see (padding, padding), (padding, 0)
    EXPECT_EQ(tile_disagreement(conv), "");
}

/// 13 x 24 pixels are 39 rows of 8: one tile of 24 rows and most of another.
TEST(Sm90Conv, WithoutTapsInTheImageTilesCoverAnyEightPixelsInARow) {
    for (const Numbers numbers : {Numbers::Coded, Numbers::Random}) {
        ConvCase conv{causal3d(3, 13, 24, 64, 136, 3, 1)};
        conv.numbers = numbers;
        conv.residual = true;
        EXPECT_EQ(conv_tiles(tile_config(Element::BF16, 128, 3, 1, 1, 64), conv.problem()), 3 * 2 * 2);
        EXPECT_EQ(tile_disagreement(conv), "");
    }
    ConvCase odd{same2d(2, 9, 21, 40, 48, 1, 1)};
    EXPECT_EQ(flattened(odd.problem()), odd.problem());
    EXPECT_EQ(tile_disagreement(odd, "", 1), "");
    ConvCase padded{same2d(1, 8, 8, 40, 48, 1, 1)};
    padded.shape.pad.top = padded.shape.pad.left = 1;
    EXPECT_EQ(flattened(padded.problem()), padded.problem());
    EXPECT_EQ(tile_disagreement(padded, "", 1), "");
    EXPECT_EQ(flattened(same2d(1, 8, 16, 64, 64, 3, 3)), same2d(1, 8, 16, 64, 64, 3, 3));
}

TEST(Sm90Conv, MoreFramesThanALaunchHoldsAreSeveralLaunches) {
    ConvCase conv{causal3d(14, 8, 8, 32, 32, 3, 3)};
    ConvNumbers numbers(conv);
    EXPECT_EQ(ModelConv(numbers, choose_config(conv.problem(), chip_of_sms(4))->config).launches(), 3u);
    EXPECT_EQ(tile_disagreement(conv, "", 1), "");
}

TEST(Sm90Conv, AResidualMayBeTheOutputFrameItself) {
    ConvCase conv{same2d(2, 17, 9, 64, 128, 3, 3)};
    conv.residual = true;
    ConvNumbers numbers(conv);
    TensorAddresses addresses = numbers.addresses();
    const auto bytes = conv.problem().output_frame_bytes();
    constexpr ConvConfig kTile = tile_config(Element::BF16, 128, 2, 1, 3, 64);
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        numbers.poison_outputs();
        for (size_t i = 0; i < addresses.output.size(); ++i)
            std::memcpy(addresses.output[i], numbers.residual.frame(i), bytes);
        addresses.residual.assign(addresses.output.begin(), addresses.output.end());
        const ModelConv model(numbers, kTile, addresses, 2);
        EXPECT_EQ((model.run<ConvKernel<kTile>, ConvParams>(seed)), "");
        EXPECT_EQ(numbers.judge(), "") << "seed " << seed;
    }
}

TEST(Sm90Conv, NothingIsLaunchedForAnEmptyProblem) {
    ConvCase conv{same2d(1, 2, 2, 32, 32, 3, 3)};
    conv.shape.pad = {};
    ConvNumbers numbers(conv);
    EXPECT_EQ(ModelConv(numbers, conv_configs()[0].config).launches(), 0u);
}

}  // namespace
}  // namespace kinetograph::sm90
