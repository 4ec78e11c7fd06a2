#include <gtest/gtest.h>

#include <kinetograph/kernels/cuda/sm100/cost.hpp>

/// Which kernel a problem gets, and its estimate.
namespace kinetograph::sm100 {
namespace {

using conv::ConvProblem;

ConvProblem layer(int64_t h, int64_t w, int64_t c_in, int64_t c_out, int64_t frames = 1, int64_t q = 1) {
    return {.d = frames + q - 1,
            .h = h,
            .w = w,
            .c_in = c_in,
            .filter = {c_out, q, 3, 3},
            .stride = {},
            .dilation = {},
            .pad = {.top = 1, .bottom = 1, .left = 1, .right = 1}};
}

std::string chosen(const ConvProblem& shape, Activation activation, Source source = Source::None,
                   EntryFunction function = EntryFunction::None) {
    const Conv2dEntry* entry = choose_entry(shape, {.activation = activation, .source = source, .function = function});
    return entry == nullptr ? "none" : entry->name;
}

TEST(Choice, GivesEveryLayerOfWan21AWindowKernelThatFitsItsFilters) {
    EXPECT_EQ(chosen(layer(720, 1280, 96, 96, 4, 3), Activation::Window3d, Source::Residual),
              "conv2d_Window3d_2sm_64b_n96_residual");
    EXPECT_EQ(chosen(layer(360, 640, 192, 192, 4, 3), Activation::Window3d, Source::Residual),
              "conv2d_Window3d_2sm_128b_n192_residual");
    EXPECT_EQ(chosen(layer(180, 320, 384, 384, 2, 3), Activation::Window3d, Source::Residual),
              "conv2d_Window3d_2sm_128b_n192_residual");
    EXPECT_EQ(chosen(layer(360, 640, 384, 192, 4), Activation::Frames2d), "conv2d_Frames2d_2sm_128b_n256_cluster_41");
}

TEST(Choice, UsesNarrowTilesWhereWideOnesWouldLeaveSmsIdle) {
    const ConvProblem small = layer(16, 16, 96, 96);
    const Conv2dEntry* entry = choose_entry(small, {});
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->config.mma.n, 64u);
}

TEST(Choice, FindsKernelsOfOtherElementsAndSaysWhenThereAreNone) {
    ConvProblem shape = layer(64, 64, 128, 128);
    shape.input = shape.weight = Element::F16;
    EXPECT_EQ(chosen(shape, Activation::Frames2d).substr(0, 11), "conv2d_fp16");
    shape.input = shape.weight = Element::F8E4M3;
    EXPECT_EQ(chosen(shape, Activation::Frames2d, Source::Residual).substr(0, 11), "conv2d_e4m3");
    EXPECT_EQ(chosen(shape, Activation::Window3d).substr(0, 20), "conv2d_e4m3_Window3d");
    EXPECT_EQ(chosen(shape, Activation::Window3d, Source::None, EntryFunction::SiluInRegisters).substr(0, 25),
              "conv2d_silu_e4m3_Window3d");
    EXPECT_EQ(chosen(shape, Activation::Window3d, Source::None, EntryFunction::ChannelSums), "none");
    shape.input = shape.weight = Element::F16;
    EXPECT_EQ(chosen(shape, Activation::Window3d).substr(0, 20), "conv2d_fp16_Window3d");
    EXPECT_EQ(chosen(shape, Activation::Volume3d).substr(0, 20), "conv2d_fp16_Volume3d");
}

TEST(Choice, FindsKernelsWithSiluOfEveryForm) {
    const auto with_silu = [](const ConvProblem& shape, Activation activation, Source source) {
        return chosen(shape, activation, source, EntryFunction::SiluInRegisters);
    };
    const ConvProblem volume = layer(360, 640, 192, 192, 4, 3), image = layer(720, 1280, 96, 96, 4);
    EXPECT_EQ(with_silu(volume, Activation::Window3d, Source::Residual), "conv2d_silu_Window3d_2sm_128b_residual");
    EXPECT_EQ(with_silu(volume, Activation::Volume3d, Source::None), "conv2d_silu_Volume3d_2sm_128b");
    EXPECT_EQ(with_silu(image, Activation::Frames2d, Source::None), "conv2d_silu_Frames2d_2sm_64b");
}

TEST(Choice, SharesAmongPairsWhatArrivesWhereThatBoundsALayer) {
    ConvProblem in_time = layer(176, 320, 384, 384, 2, 3);
    in_time.filter.r = in_time.filter.s = 1;
    in_time.pad = {};
    EXPECT_EQ(chosen(in_time, Activation::Window3d), "conv2d_Window3d_2sm_128b_n192_cluster_42");
    ChipRates wide;
    wide.l2_bytes_per_clock = 80;
    const Conv2dEntry* alone = choose_entry(in_time, {.activation = Activation::Window3d}, wide);
    ASSERT_NE(alone, nullptr);
    EXPECT_EQ(alone->config.cluster.size(), alone->config.cta_group);
}

TEST(Choice, TakesTilesOf64PixelsForSmallImagesWhereTheModelSaysSo) {
    ConvProblem halved = layer(16, 16, 384, 384);
    halved.stride = {1, 2, 2};
    const Conv2dEntry* small = choose_entry(halved, {});
    ASSERT_NE(small, nullptr);
    EXPECT_EQ(small->config.block.m, 64u) << small->name;
    for (const Conv2dEntry* entry : entries_for(halved, {})) {
        if (entry->config.block.m == 64) continue;
        EXPECT_GT(estimate(entry->config, halved).seconds, estimate(small->config, halved).seconds) << entry->name;
    }
    const Conv2dEntry* large = choose_entry(layer(256, 256, 384, 384), {});
    ASSERT_NE(large, nullptr);
    EXPECT_EQ(large->config.block.m, 128u) << large->name;
}

TEST(Choice, GivesAPairOf64RowsHalfOfTheRateUntilMoreIsMeasured) {
    const ConvProblem shape = layer(64, 64, 384, 384);
    const auto pair = small_config(2, 128, 128, Activation::Frames2d, Source::None);
    const auto one = small_config(1, 128, 64, Activation::Frames2d, Source::None);
    ChipRates full;
    full.full_rows_of_pairs = 64;
    EXPECT_NEAR(estimate(pair, shape).mma_seconds, 2 * estimate(pair, shape, full).mma_seconds, 1e-12);
    EXPECT_EQ(estimate(one, shape).mma_seconds, estimate(one, shape, full).mma_seconds);
}

TEST(Choice, WalksInPanelsWhereFiltersDoNotStayInTheL2) {
    const Conv2dEntry* entry = choose_entry(layer(256, 256, 384, 384, 4), {});
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(estimate(entry->config, layer(256, 256, 384, 384, 4)).panel, 1u);
    const ConvProblem wide = layer(256, 256, 3072, 3072, 4);  // 170 MB of filters
    const Conv2dEstimate in_panels = estimate(entry->config, wide);
    EXPECT_GT(in_panels.panel, 1u);
    ChipRates larger;
    larger.l2_bytes = 1e9;
    EXPECT_EQ(estimate(entry->config, wide, larger).panel, 1u);
    EXPECT_LT(estimate(entry->config, wide, larger).hbm_seconds, in_panels.hbm_seconds);
}

TEST(Choice, GivesTheKernelThatIsNamedIfItComputesTheProblem) {
    const ConvProblem image = layer(64, 64, 128, 128);
    const auto named = [&](std::string_view kernel, EntryFunction function) {
        const Conv2dEntry* entry = choose_entry(image, {.function = function, .kernel = kernel});
        return entry == nullptr ? "none" : std::string(entry->name);
    };
    EXPECT_EQ(named("conv2d_Frames2d_1sm_64b_n96", EntryFunction::None), "conv2d_Frames2d_1sm_64b_n96");
    EXPECT_EQ(named("conv2d_Frames2d_1sm_64b_n96", EntryFunction::SiluInRegisters), "none");
    EXPECT_EQ(named("conv2d_silu_staged_2sm_128b_None", EntryFunction::SiluInRegisters),
              "conv2d_silu_staged_2sm_128b_None");
    EXPECT_EQ(chosen(image, Activation::Frames2d, Source::None, EntryFunction::SiluInRegisters).find("staged"),
              std::string::npos);
    const auto all = entries_for(image, {.function = EntryFunction::SiluInRegisters});
    EXPECT_EQ(all.size(), 6u);  // four in registers, two staged
}

/// A chip on which operands arrive at once.
ChipRates roomy() {
    ChipRates rates;
    rates.l2_bytes_per_clock = rates.shared_bytes_per_clock = 1e6;
    rates.hbm_bytes_per_second = 1e18;
    return rates;
}

TEST(Choice, CountsWhatAnEpilogueTakes) {
    // One tap of 32 channels: two steps of products for 4 pieces of 300 clocks a warp.
    ConvProblem pointwise = layer(352, 640, 32, 128);
    pointwise.filter.r = pointwise.filter.s = 1;
    pointwise.pad = {};
    const Conv2dConfig config = entry_config(2, 64, 128, Activation::Frames2d, Source::None);
    const Conv2dEstimate bare = estimate(config, pointwise, roomy());
    EXPECT_NEAR(bare.epilogue_seconds, static_cast<double>(bare.rounds) * 4 * 300 / 1.8558e9, 1e-9);
    EXPECT_EQ(bare.limit, Limit::Epilogue);
    pointwise.activation = conv::Activation::Silu;
    const Conv2dEstimate silu = estimate(config, pointwise, roomy());
    EXPECT_NEAR(silu.epilogue_seconds / bare.epilogue_seconds, 812.0 / 300, 1e-6);
    EXPECT_NEAR(silu.seconds, silu.epilogue_seconds, 1e-12);
}

TEST(Choice, LetsPowerLimitProductsOfBusySms) {
    const ConvProblem large = layer(352, 640, 384, 384, 4);
    const Conv2dConfig config = entry_config(2, 128, 192, Activation::Frames2d, Source::None);
    ChipRates three_quarters = roomy();
    three_quarters.power_share = 0.75;
    const Conv2dEstimate cold = estimate(config, large, roomy()), hot = estimate(config, large, three_quarters);
    EXPECT_EQ(cold.limit, Limit::Mma);
    EXPECT_LE(cold.power_seconds, cold.mma_seconds);
    EXPECT_EQ(hot.limit, Limit::Power);
    EXPECT_NEAR(hot.power_seconds, cold.power_seconds / 0.75, 1e-9);
    const ConvProblem few = layer(16, 16, 384, 384);  // most SMs are idle, and their power is the others'
    EXPECT_NE(estimate(config, few, three_quarters).limit, Limit::Power);
}

TEST(Choice, CountsTheClustersThatRunAtOnce) {
    const ConvProblem large = layer(352, 640, 384, 384, 4);
    const Conv2dConfig four = cluster_config(2, 128, 256, Activation::Frames2d, 4, 1);
    ChipRates odd;
    odd.clusters = {{74, 33, 16}};
    EXPECT_EQ(odd.clusters_at_once(1), 148u);
    EXPECT_EQ(odd.clusters_at_once(4), 33u);
    EXPECT_EQ(ChipRates{}.clusters_at_once(4), 37u);
    EXPECT_GT(estimate(four, large, odd).rounds, estimate(four, large).rounds);
}

TEST(Choice, EstimatesByHand) {
    // 720 x 1280 x 96 -> 96, 27 taps, a pair: 3600 tiles of 256 pixels a frame, 4 frames, 74 pairs.
    const Conv2dConfig config = entry_config(2, 64, 96, Activation::Window3d, Source::None);
    const Conv2dEstimate result = estimate(config, layer(720, 1280, 96, 96, 4, 3));
    EXPECT_EQ(result.tiles, 14400u);
    EXPECT_EQ(result.rounds, 195u);  // 14400 / 74, rounded up
    // 27 taps of 6 steps of 48 clocks, and 27 taps of 3 blocks of (128 + 48) rows of 64 bytes at 40 bytes a clock.
    EXPECT_NEAR(result.mma_seconds, 195.0 * 27 * 6 * 48 / 1.8558e9, 1e-6);
    EXPECT_NEAR(result.l2_seconds, 195.0 * 27 * 3 * 176 * 64 / 40 / 1.8558e9, 1e-6);
    EXPECT_EQ(result.limit, Limit::L2);
}

}  // namespace
}  // namespace kinetograph::sm100
