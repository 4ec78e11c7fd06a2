#include <gtest/gtest.h>

#include <kinetograph/kernels/cuda/sm80/conv_params.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_tiles.hpp>

#include "model_conv.hpp"

namespace kinetograph::sm80 {
namespace {

constexpr ConvChip kH200{.sm_count = 132, .shared_bytes_per_sm = 228 * 1024};
constexpr ConvChip kAda{.sm_count = 128, .shared_bytes_per_sm = 100 * 1024};

std::string_view chosen(const ConvShape& shape, const ConvEpilogue& epilogue = {}, const ConvChip& chip = kH200) {
    return choose_config(shape, epilogue, chip).kernel;
}

TEST(ConvTiles, LayersOfADecoderTakeTheTileThatWastesNothing) {
    EXPECT_EQ(chosen(same2d(1, 704, 1280, 96, 96, 3, 3)), "sm80_conv_bf16_128x96");
    EXPECT_EQ(chosen(same2d(1, 352, 640, 192, 192, 3, 3)), "sm80_conv_bf16_128x96");
    EXPECT_EQ(chosen(same2d(1, 704, 1280, 96, 3, 3, 3)), "sm80_conv_bf16_128x16");
}
TEST(ConvTiles, SmallLayersTakeSmallTilesSoThatEverySmHasWork) {
    const ConvConfig& config = choose_config(same2d(1, 16, 16, 384, 384, 3, 3), {}, kH200).config;
    EXPECT_LE(config.bm * config.bn, 64u * 96);
}
TEST(ConvTiles, TheTypeDecidesBeforeTheShape) {
    ConvShape shape = same2d(1, 704, 1280, 192, 192, 3, 3);
    shape.element = Element::F16;
    EXPECT_EQ(chosen(shape).substr(0, 14), "sm80_conv_f16_");
}
TEST(ConvTiles, ChannelsDecideHowWideACopyIs) {
    EXPECT_EQ(chosen(same2d(1, 64, 64, 3, 96, 3, 3)), "sm80_conv_bf16_64x64_by2");
    EXPECT_EQ(chosen(same2d(1, 64, 64, 12, 96, 3, 3)), "sm80_conv_bf16_64x64_by4");
    EXPECT_EQ(choose_config(same2d(1, 64, 64, 16, 96, 3, 3), {}, kH200).config.copy_bytes, 16u);
}
TEST(ConvTiles, ANormNeedsAllChannelsInOneTile) {
    const ConvShape shape = same2d(1, 16, 16, 192, 192, 3, 3);
    EXPECT_NE(chosen(shape), "sm80_conv_bf16_64x192");
    EXPECT_EQ(chosen(shape, {.norm = Norm::Beside}), "sm80_conv_bf16_64x192");
}
TEST(ConvTiles, MoreSmsMakeALayerNoDearer) {
    for (const NamedConvConfig& named : conv_configs()) {
        const ConvShape shape = same2d(1, 90, 160, 384, 384, 3, 3);
        ConvChip chip = kAda;
        double before = conv_cost(named.config, shape, chip);
        for (chip.sm_count = 160; chip.sm_count < 640; chip.sm_count *= 2) {
            const double cost = conv_cost(named.config, shape, chip);
            EXPECT_LE(cost, before * 1.0001) << named.kernel << " on " << chip.sm_count;
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

TEST(ConvTiles, EveryReasonToDeclineIsNamed) {
    ConvShape shape = same2d(1, 16, 16, 96, 200, 3, 3);
    EXPECT_EQ(declined(shape, {}), "");
    EXPECT_EQ(declined(shape, {.norm = Norm::Instead}), "no tile holds 200 channels for the norm");
    shape.element = Element::F8E4M3;
    EXPECT_EQ(declined(shape, {}), "elements of bf16 or fp16 are needed");
    shape.element = Element::F16;
    shape.q = kMaxConvFrameTaps + 1;
    EXPECT_EQ(declined(shape, {}), "65 temporal taps; a launch has room for 64");
    shape.q = 3;
    shape.upsample = Upsample::SubPixel;
    EXPECT_EQ(declined(shape, {}), "");
    for (const auto break_it : {+[](ConvShape& s) { s.r = 1; }, +[](ConvShape& s) { s.stride.w = 2; },
                                +[](ConvShape& s) { s.dilation.h = 2; }, +[](ConvShape& s) { s.pad_front.w = 0; },
                                +[](ConvShape& s) { s.pad_back.h = 0; }}) {
        ConvShape other = shape;
        break_it(other);
        EXPECT_EQ(declined(other, {}), "sub-pixel upsampling takes 3 x 3 taps with stride 1, dilation 1 and padding 1");
    }
}

}  // namespace
}  // namespace kinetograph::sm80
