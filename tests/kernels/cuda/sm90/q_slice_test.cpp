#include <gtest/gtest.h>

#include <algorithm>
#include <kinetograph/kernels/cuda/sm90/conv_configs.hpp>
#include <kinetograph/kernels/cuda/sm90/q_slice_plan.hpp>
#include <kinetograph/tests/kernels/cuda/sm80/random_case.hpp>
#include <kinetograph/tests/sanitizers.hpp>

#include "model_conv.hpp"

namespace kinetograph::sm90 {
namespace {

/// 3x3x3 taps over that many frames, nothing padded in time.
ConvCase sliced(int64_t frames, int64_t h, int64_t w, int64_t c_in, int64_t k) {
    ConvCase conv{sm80::causal3d(frames, h, w, c_in, k, 3, 3)};
    conv.shape.pad.front = 0;
    return conv;
}

class EverySumTile : public testing::TestWithParam<std::string_view> {};

/// A problem that just overflows the tile.
TEST_P(EverySumTile, AgreesWithFp64OnARaggedImage) {
    const auto configs = sum_configs();
    const auto named = std::ranges::find(configs, GetParam(), &NamedConvConfig::kernel);
    ASSERT_NE(named, configs.end());
    const ConvConfig& c = named->config;
    ConvCase conv = sliced(4, tile_rows(c) + 3, tile_columns(c) + 4, c.channels == 64 ? 64 : 40, c.bn - 8);
    conv.residual = true;
    conv.epilogue.norm = Norm::Beside;
    EXPECT_EQ(QSliceModel(conv, GetParam()).disagreement(1), "");
}

INSTANTIATE_TEST_SUITE_P(Each, EverySumTile,
                         testing::Values("sm90_sums_bf16_n64_8x40_3_64", "sm90_sums_bf16_n96_32x8_3_32",
                                         "sm90_sums_bf16_n128_16x8_3_64", "sm90_sums_bf16_n192_16x8_3_64"));

TEST(Sm90QSlice, IntegersComeOutBitForBit) {
    ConvCase conv = sliced(4, 9, 11, 64, 72);
    conv.numbers = Numbers::Integers;
    conv.residual = true;
    EXPECT_EQ(QSliceModel(conv).disagreement(), "");
}

TEST(Sm90QSlice, PositionsFramesAndTapsAreNotSwapped) {
    ConvCase conv = sliced(5, 17, 18, 32, 104);
    conv.numbers = Numbers::Coded;
    EXPECT_EQ(QSliceModel(conv).disagreement(), "");
}

TEST(Sm90QSlice, SamplesDoNotShareFrames) {
    ConvCase conv = sliced(4, 8, 8, 32, 32);
    conv.shape.n = 2;
    QSliceModel model(conv);
    EXPECT_EQ(model.launches(), 3U) << "one a slice over the frames of both";
    EXPECT_EQ(model.disagreement(1), "");
}

TEST(Sm90QSlice, MoreFramesThanALaunchHoldsAreSeveralLaunchesASlice) {
    ConvCase conv = sliced(10, 8, 8, 32, 32);
    QSliceModel model(conv);
    EXPECT_EQ(model.launches(), 6U);
    EXPECT_EQ(model.disagreement(1), "");
}

TEST(Sm90QSlice, StatesTheSumsOfTheFramesThatItWorksOnTogether) {
    const conv::Chip h200 = chip_of_sms(132);
    EXPECT_EQ(plan_q_slice(sliced(6, 176, 320, 384, 384).shape, h200).workspace_bytes, 4ULL * 176 * 320 * 384 * 4);
    EXPECT_EQ(plan_q_slice(sliced(10, 704, 1280, 96, 96).shape, h200).workspace_bytes, 4ULL * 704 * 1280 * 96 * 4)
        << "four of eight frames fit";
    EXPECT_EQ(plan_q_slice(sliced(4, 2176, 3840, 96, 96).shape, h200).workspace_bytes, 2176ULL * 3840 * 96 * 4);
}

/// Of the layers of Wan 2.1 at 1280x704, as docs/kernels-sm90.md says.
TEST(Sm90QSlice, IsPredictedToBeSlowerThanOneLaunchOverAllTaps) {
    const conv::Chip h200 = chip_of_sms(132);
    for (const ConvCase& test : {sliced(3, 88, 160, 384, 384), sliced(4, 176, 320, 384, 384),
                                 sliced(6, 352, 640, 192, 192), sliced(6, 704, 1280, 96, 96)}) {
        const double direct = conv_seconds(choose_config(test.shape, h200)->config, test.shape, h200);
        const double ratio = plan_q_slice(test.shape, h200).seconds / direct;
        EXPECT_GT(ratio, 1.07) << test.shape.to_string();
        EXPECT_LT(ratio, 1.28) << test.shape.to_string();
    }
}

/// A norm over more channels than a tile holds is a pass after the last slice.
TEST(Sm90QSlice, ANormThatNoTileHoldsIsAPassOfItsOwn) {
    ConvProblem p = sliced(4, 88, 160, 384, 384).shape;
    p.norm = Norm::Instead;
    EXPECT_EQ(plan_q_slice(p, chip_of_sms(132)).kernels.size(), 2U);
    p.filter.k = 192;
    EXPECT_EQ(plan_q_slice(p, chip_of_sms(132)).kernels.size(), 1U);
}

class RandomQSlice : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomQSlice, AgreesWithFp64) {
    const sm80::RandomRange range{.h = {1, 3, 8, 13, 33},
                                  .w = {1, 4, 8, 11, 19},
                                  .c_in = {8, 16, 24, 32, 40, 64, 96, 128},
                                  .k = {8, 16, 48, 64, 96, 104, 136},
                                  .taps = {{3, 3}}};
    uint32_t computed = 0;
    for (uint32_t seed = GetParam() * 1000; computed < 6; ++seed) {
        ConvCase conv = sm80::random_case(seed, range);
        conv.shape.upsample = false;
        conv.shape.filter.q = 2 + seed % 2;
        conv.shape.d = conv.shape.filter.q + seed / 2 % 3;
        conv.shape.pad.front = conv.shape.pad.back = 0;
        if (conv.shape.empty() || choose_sum_config(conv.problem(), chip_of_sms(4)) == nullptr) continue;
        ++computed;
        EXPECT_EQ(QSliceModel(conv).disagreement(), "") << "problem " << seed << ": " << conv.problem().to_string();
    }
}

INSTANTIATE_TEST_SUITE_P(SixProblems, RandomQSlice, testing::Range(0u, test::kAddressSanitized ? 1u : 4u));

template <ConvFault kFault>
void expect_caught() {
    constexpr ConvConfig kTile = with_sums(tile_config(Element::BF16, 96, 4, 1, 3, 32));
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        QSliceModel model(sliced(4, 40, 9, 32, 96), "sm90_sums_bf16_n96_32x8_3_32");
        const std::string outcome = model.outcome<ConvKernel<kTile, kFault>>(seed);
        EXPECT_EQ(outcome.empty(), kFault == ConvFault::None) << "seed " << seed << ": " << outcome;
    }
}

TEST(Sm90QSliceFaults, NoneOfThemIsNoFault) { expect_caught<ConvFault::None>(); }
TEST(Sm90QSliceFaults, SumsThatAreNotAddedAreCaught) { expect_caught<ConvFault::NoAddend>(); }
TEST(Sm90QSliceFaults, WarpgroupsThatDoNotTakeTurnsAreCaught) { expect_caught<ConvFault::NoOrder>(); }
TEST(Sm90QSliceFaults, AccumulatorsThatAreReadTooEarlyAreCaught) { expect_caught<ConvFault::NoFinalWait>(); }
TEST(Sm90QSliceFaults, AStageThatIsReleasedWhileItIsReadIsCaught) { expect_caught<ConvFault::ReleasesEarly>(); }

}  // namespace
}  // namespace kinetograph::sm90
