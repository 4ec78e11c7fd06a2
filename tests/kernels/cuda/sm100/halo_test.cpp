#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "halo_conv.hpp"

namespace kinetograph::sm100 {
namespace {

using sm80::causal3d;
using sm80::same2d;

/// A problem that just overflows the tile: more rows, columns and filters than one holds, halo on every side.
ConvCase ragged_case(const HaloConfig& c) {
    const int64_t taps = c.side == 2 ? 3 : c.side;
    const bool pixels = c.store == HaloStore::Pixels;
    ConvCase conv;
    conv.shape = same2d(1, cta_rows(c) + 3, tile_columns(c) + 4, c.channels == 64 ? 64 : 40,
                        pixels ? 3 : tile_filters(c) - 8, taps, taps);
    conv.shape.upsample = c.side == 2;
    conv.shape.input = conv.shape.weight = c.element;
    conv.residual = !pixels;
    if (!pixels) conv.epilogue.norm = Norm::Beside;
    return conv;
}

class EveryHaloTile : public testing::TestWithParam<size_t> {};

TEST_P(EveryHaloTile, AgreesWithFp64OnARaggedImage) {
    const NamedHaloConfig& tile = halo_configs()[GetParam()];
    EXPECT_EQ(halo_disagreement(ragged_case(tile.config), tile.kernel, 1), "");
}

/// All in bf16, and in fp16, which differs in an instruction's name, two.
std::vector<size_t> tiles_to_run() {
    std::vector<size_t> tiles;
    for (size_t i = 0; i < halo_configs().size(); ++i) {
        const NamedHaloConfig& tile = halo_configs()[i];
        if (tile.config.element == Element::BF16 || tile.kernel == "sm100_halo_f16_n96_32x8_3_32" ||
            tile.kernel == "sm100_halo_f16_n16_32x8_3_32")
            tiles.push_back(i);
    }
    return tiles;
}
INSTANTIATE_TEST_SUITE_P(Tiles, EveryHaloTile, testing::ValuesIn(tiles_to_run()),
                         [](const auto& test) { return std::string(halo_configs()[test.param].kernel); });

TEST(HaloConv, IntegersComeOutBitForBit) {
    ConvCase conv{causal3d(3, 9, 11, 64, 72, 3, 3)};
    conv.numbers = Numbers::Integers;
    conv.residual = true;
    EXPECT_EQ(halo_disagreement(conv), "");
}

TEST(HaloConv, PositionsAndTapsAreNotSwapped) {
    for (const bool upsample : {false, true}) {
        ConvCase conv{same2d(1, 10, 13, 32, 96, 3, 3)};
        conv.shape.upsample = upsample;
        conv.numbers = Numbers::Coded;
        EXPECT_EQ(halo_disagreement(conv), "") << "upsample " << upsample;
    }
}

TEST(HaloConv, FramesBeforeTheFirstAreSkipped) {
    EXPECT_EQ(halo_disagreement({causal3d(1, 8, 8, 64, 64, 3, 3)}), "");
    EXPECT_EQ(halo_disagreement({causal3d(5, 8, 8, 32, 32, 3, 1)}), "");
}

TEST(HaloConv, NormsInsteadOfTheOutputAndBesideItOverEveryWidth) {
    for (const int64_t filters : {32, 96, 128, 192, 200, 384})
        for (const Norm norm : {Norm::Instead, Norm::Beside}) {
            ConvCase conv{same2d(1, 7, 9, 32, filters, 3, 3)};
            conv.epilogue.norm = norm;
            conv.residual = norm == Norm::Beside;
            conv.epilogue.norm_silu = filters != 128;
            conv.epilogue.silu = filters == 32;
            conv.epilogue.relu = filters == 96;
            conv.epilogue.negative_slope = norm == Norm::Beside ? 0.2F : 0.0F;
            EXPECT_EQ(halo_disagreement(conv), "") << filters;
        }
}

TEST(HaloConv, AHeadIsStoredPixelByPixelInAnyType) {
    for (const bool float32 : {false, true})
        for (const Element element : {Element::BF16, Element::F16}) {
            ConvCase conv{causal3d(2, 7, 9, 96, 3, 3, 3)};
            conv.shape.input = conv.shape.weight = element;
            conv.epilogue.float32 = float32;
            conv.epilogue.relu = element == Element::F16;
            conv.epilogue.negative_slope = float32 ? 0.2F : 0.0F;
            EXPECT_EQ(halo_disagreement(conv), "");
        }
    EXPECT_EQ(halo_disagreement({same2d(1, 7, 9, 16, 16, 1, 1)}), "");
}

TEST(HaloConv, SixteenChannelsAreHalfABlockOfZeros) {
    EXPECT_EQ(halo_disagreement({causal3d(3, 6, 7, 16, 128, 3, 3)}), "");
}

TEST(HaloConv, MoreFramesThanALaunchHoldsAreSeveralLaunches) {
    ConvCase conv{causal3d(14, 8, 8, 32, 32, 3, 3)};
    EXPECT_EQ(halo_disagreement(conv, "", 1), "");
}

TEST(HaloConv, AResidualMayBeTheOutputFrameItself) {
    ConvCase conv{same2d(2, 17, 9, 64, 128, 3, 3)};
    conv.residual = true;
    ConvNumbers numbers(conv);
    sm80::TensorAddresses addresses = numbers.addresses();
    addresses.residual.assign(addresses.output.begin(), addresses.output.end());
    const NamedHaloConfig* tile = choose_halo_config(conv.problem(), {.sms = kTestSms});
    const ModelConv model = halo_model(numbers, tile->config, addresses);
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        numbers.poison_outputs();
        for (size_t i = 0; i < addresses.output.size(); ++i)
            std::memcpy(addresses.output[i], numbers.residual.frame(i), conv.problem().output_frame_bytes());
        EXPECT_EQ(model.run(tile->kernel, seed), "");
        EXPECT_EQ(numbers.judge(), "") << "seed " << seed;
    }
}

/// Two reads of operands bound a step of 96 filters, products one of 192; taps share what arrives through L2.
TEST(HaloConv, IsBoundByWhatTheModelSays) {
    ConvProblem narrow = causal3d(6, 704, 1280, 96, 96, 3, 3), wide = causal3d(6, 352, 640, 192, 192, 3, 3);
    const ChipRates chip;
    const auto limit = [&](const ConvProblem& p, const ChipRates& rates) {
        return estimate(choose_halo_config(p, rates)->config, p, rates).limit;
    };
    EXPECT_EQ(limit(narrow, chip), Limit::Shared);
    EXPECT_EQ(limit(wide, chip), Limit::Mma);
    ChipRates slow_l2 = chip;
    slow_l2.l2_bytes_per_clock = 10;
    EXPECT_EQ(limit(wide, slow_l2), Limit::L2);
    ChipRates fast_shared = chip;
    fast_shared.shared_bytes_per_clock = 256;
    EXPECT_EQ(limit(narrow, fast_shared), Limit::Mma);
}

}  // namespace
}  // namespace kinetograph::sm100
