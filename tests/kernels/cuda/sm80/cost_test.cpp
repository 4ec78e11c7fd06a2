#include <gtest/gtest.h>

#include <kinetograph/kernels/cuda/host/upsample.hpp>
#include <set>

#include "model_conv.hpp"

namespace kinetograph::sm80 {
namespace {

const conv::Chip kH200 = chip_of_sms(132, 227 * 1024), kAda = chip_of_sms(128, 99 * 1024);

std::string_view chosen(const ConvProblem& problem, const Epilogue& epilogue = {}) {
    return choose_config(ConvCase{problem, epilogue}.problem(), kH200).kernel;
}

TEST(ConvTiles, LayersOfADecoderTakeTheTileThatWastesNothing) {
    EXPECT_EQ(chosen(same2d(1, 704, 1280, 96, 96, 3, 3)), "sm80_conv_bf16_128x96");
    EXPECT_EQ(chosen(same2d(1, 352, 640, 192, 192, 3, 3)), "sm80_conv_bf16_128x96");
    EXPECT_EQ(chosen(same2d(1, 352, 640, 48, 48, 3, 3)), "sm80_conv_bf16_128x48");
    EXPECT_EQ(chosen(same2d(1, 704, 1280, 24, 24, 3, 3)), "sm80_conv_bf16_128x32");
    EXPECT_EQ(chosen(same2d(1, 704, 1280, 96, 3, 3, 3)), "sm80_conv_bf16_128x16");
}
TEST(ConvTiles, SmallLayersTakeSmallTilesSoThatEverySmHasWork) {
    const ConvConfig& config = choose_config(same2d(1, 16, 16, 384, 384, 3, 3), kH200).config;
    EXPECT_LE(config.bm * config.bn, 64u * 96);
}
TEST(ConvTiles, TheTypeDecidesBeforeTheShape) {
    ConvProblem shape = same2d(1, 704, 1280, 192, 192, 3, 3);
    shape.dtype = Element::F16;
    EXPECT_EQ(chosen(shape).substr(0, 14), "sm80_conv_f16_");
}
TEST(ConvTiles, ChannelsDecideHowWideACopyIs) {
    EXPECT_EQ(chosen(same2d(1, 64, 64, 3, 96, 3, 3)), "sm80_conv_bf16_64x64_by2");
    EXPECT_EQ(chosen(same2d(1, 64, 64, 12, 96, 3, 3)), "sm80_conv_bf16_64x64_by4");
    EXPECT_EQ(choose_config(same2d(1, 64, 64, 16, 96, 3, 3), kH200).config.copy_bytes, 16u);
}
TEST(ConvTiles, ANormNeedsAllChannelsInOneTile) {
    const ConvProblem shape = same2d(1, 16, 16, 192, 192, 3, 3);
    EXPECT_NE(chosen(shape), "sm80_conv_bf16_64x192");
    EXPECT_EQ(chosen(shape, {.norm = Norm::Beside}), "sm80_conv_bf16_64x192");
    EXPECT_FALSE(some_tile_fits(ConvCase{same2d(1, 16, 16, 96, 200, 3, 3), {.norm = Norm::Instead}}.problem()));
}
/// A norm adds squares in an order that depends on the tile's width. If the width depended on the number of frames, so
/// would the last bits of the results.
TEST(ConvTiles, ANormsTileIsAsWideForAnyNumberOfFrames) {
    for (const int64_t channels : {24, 32, 48, 64, 96, 128, 192}) {
        std::set<uint32_t> widths;
        for (const int64_t frames : {1, 2, 4, 8})
            for (const int64_t rows : {8, 44, 704}) {
                ConvCase conv{causal3d(frames, rows, 80, channels, channels, 3, 3), {.norm = Norm::Beside}};
                widths.insert(choose_config(conv.problem(), kH200).config.bn);
            }
        EXPECT_EQ(widths.size(), 1u) << channels;
    }
}
TEST(ConvTiles, MoreSmsMakeALayerNoDearer) {
    for (const NamedConvConfig& named : conv_configs()) {
        const ConvProblem shape = same2d(1, 90, 160, 384, 384, 3, 3);
        conv::Chip chip = kAda;
        double before = conv_seconds(named.config, shape, chip);
        for (chip.compute_units = 160; chip.compute_units < 640; chip.compute_units *= 2) {
            const double cost = conv_seconds(named.config, shape, chip);
            EXPECT_LE(cost, before * 1.0001) << named.kernel << " on " << chip.compute_units;
            before = cost;
        }
    }
}
TEST(ConvTiles, EveryTileFitsEverySm) {
    for (const NamedConvConfig& named : conv_configs()) {
        EXPECT_LE(shared_bytes(named.config), 99u * 1024) << named.kernel;
        EXPECT_GE(resident_ctas(named.config, kAda), 1u);
    }
}

TEST(ConvUpsampling, IsOfSubPixelsForThePlain3x3Alone) {
    ConvProblem shape = causal3d(3, 16, 16, 96, 96, 3, 3);
    EXPECT_EQ(cuda::upsample_of(shape), cuda::Upsample::None);
    shape.upsample = true;
    EXPECT_EQ(cuda::upsample_of(shape), cuda::Upsample::SubPixel);
    for (const auto break_it : {+[](ConvProblem& p) { p.filter.r = 1; }, +[](ConvProblem& p) { p.stride.w = 2; },
                                +[](ConvProblem& p) { p.dilation.h = 2; }, +[](ConvProblem& p) { p.pad.left = 0; },
                                +[](ConvProblem& p) { p.pad.bottom = 0; }}) {
        ConvProblem other = shape;
        break_it(other);
        EXPECT_EQ(cuda::upsample_of(other), cuda::Upsample::Nearest2x);
    }
}

}  // namespace
}  // namespace kinetograph::sm80
