#include <gtest/gtest.h>

#include <algorithm>

#include <kinetograph/kernels/cuda/sm80/plan.hpp>
#include <kinetograph/kernels/cuda/sm80/winograd_configs.hpp>
#include <kinetograph/tests/sanitizers.hpp>

#include "random_case.hpp"
#include "winograd_conv.hpp"

namespace kinetograph::sm80 {
namespace {

class EveryWinogradTileOfSm80 : public testing::TestWithParam<std::string_view> {};

/// A problem that just overflows the tile: more pixels and filters than one holds, halo on every side.
TEST_P(EveryWinogradTileOfSm80, AgreesWithFp64OnARaggedImage) {
    const auto configs = winograd_configs();
    const auto named = std::ranges::find(configs, GetParam(), &NamedConvConfig::kernel);
    ASSERT_NE(named, configs.end());
    ConvCase conv{causal3d(4, 7, 11, 40, named->config.bn - 5, 3, 3)};
    conv.shape.input = conv.shape.weight = named->config.element;
    conv.shape.pad.front = 0;  // two frames out of four
    conv.residual = true;
    conv.epilogue.norm = Norm::Beside;
    EXPECT_EQ(winograd_disagreement(conv, GetParam(), 1), "");
}

INSTANTIATE_TEST_SUITE_P(Each, EveryWinogradTileOfSm80,
                         testing::Values("sm80_winograd_bf16_64x96", "sm80_winograd_bf16_64x192",
                                         "sm80_winograd_f16_64x96", "sm80_winograd_f16_64x192"));

TEST(WinogradOfSm80, IntegersComeOutBitForBit) {
    ConvCase conv{causal3d(4, 7, 11, 40, 100, 3, 3)};
    conv.numbers = Numbers::Integers;
    conv.residual = true;
    EXPECT_EQ(winograd_disagreement(conv), "");
}

TEST(WinogradOfSm80, PositionsFramesAndTapsAreNotSwapped) {
    ConvCase conv{causal3d(4, 5, 8, 32, 32, 3, 3)};
    conv.numbers = Numbers::Coded;
    EXPECT_EQ(winograd_disagreement(conv), "");
}

TEST(WinogradOfSm80, TheLastOfAnOddNumberOfFramesIsComputedAlone) {
    for (const int64_t frames : {3, 5}) {
        ConvCase conv{causal3d(frames, 5, 8, 32, 32, 3, 3)};
        conv.numbers = Numbers::Integers;
        conv.epilogue.norm = Norm::Instead;
        conv.residual = true;
        EXPECT_EQ(winograd_disagreement(conv), "") << frames;
    }
}

TEST(WinogradOfSm80, FramesOfPaddingAreZerosInFrontAndBehind) {
    ConvCase conv{causal3d(2, 8, 8, 24, 32, 3, 3)};
    conv.numbers = Numbers::Integers;
    EXPECT_EQ(winograd_disagreement(conv), "");
    conv.shape.pad.back = 2;
    EXPECT_EQ(winograd_disagreement(conv), "");
}

/// 9 taps of 8 channels are two and a quarter blocks of 32: the next product begins with the next block.
TEST(WinogradOfSm80, ProductsThatEndWithinABlockDoNotMix) {
    ConvCase conv{causal3d(3, 6, 6, 8, 16, 3, 3)};
    conv.numbers = Numbers::Integers;
    EXPECT_EQ(winograd_disagreement(conv), "");
}

TEST(WinogradOfSm80, SamplesDoNotShareAPair) {
    ConvCase conv{causal3d(3, 2, 5, 8, 8, 3, 3)};
    conv.shape.n = 2;
    EXPECT_EQ(winograd_disagreement(conv, "", 1), "");
}

TEST(WinogradOfSm80, MoreFramesThanALaunchHoldsAreSeveralLaunches) {
    ConvCase conv{causal3d(33, 2, 2, 8, 8, 3, 3)};
    ConvNumbers numbers(conv);
    EXPECT_EQ(WinogradConv(numbers, winograd_bf16_64x96).launches(), 2u);  // 17 pairs, 16 a launch
    EXPECT_EQ(winograd_disagreement(conv, "", 1), "");
}

/// Where the matrix units are the limit two thirds of the products are two thirds of the time; where shared memory is,
/// frames that are read twice take the gain back.
TEST(WinogradOfSm80, IsPredictedToPayOnChipsWhoseMatrixUnitsAreTheLimit) {
    const auto ratio = [](std::string_view architecture, int64_t h, int64_t w, int64_t channels, int64_t frames) {
        const auto found = std::ranges::find(devices(), architecture, &conv::KnownDevice::architecture);
        const conv::Chip chip{
            .kind = "cuda",
            .architecture = std::string(architecture),
            .features = {},
            .compute_units = found == devices().end() ? 132 : found->compute_units,
            .shared_bytes_per_block = found == devices().end() ? 227 << 10U : found->shared_bytes_per_block,
            .clocks_per_second = found == devices().end() ? 1.8e9 : found->clocks_per_second,
            .memory_bytes_per_second = 2e12};
        ConvProblem p = causal3d(frames + 2, h, w, channels, channels, 3, 3);
        p.pad.front = 0;
        return conv_seconds(choose_config(p, chip).config, p, chip) /
               winograd_seconds(choose_winograd_config(p, chip)->config, p, chip);
    };
    for (const char* geforce : {"sm_86", "sm_89", "sm_120"}) {
        EXPECT_GT(ratio(geforce, 704, 1280, 96, 4), 1.3) << geforce;
        EXPECT_GT(ratio(geforce, 352, 640, 192, 4), 1.3) << geforce;
        EXPECT_GT(ratio(geforce, 176, 320, 384, 2), 1.3) << geforce;
    }
    EXPECT_LT(ratio("sm_80", 352, 640, 192, 4), 1);
    EXPECT_LT(ratio("sm_90", 352, 640, 192, 4), 1);
}

class RandomWinogradOfSm80 : public testing::TestWithParam<uint32_t> {};

/// Drawn problems with 3x3x3 taps on two frames or more, in both elements.
TEST_P(RandomWinogradOfSm80, AgreesWithFp64) {
    const RandomRange range{
        .h = {1, 3, 6}, .w = {1, 4, 7, 12}, .c_in = {8, 16, 24, 40}, .k = {1, 3, 8, 31, 48, 96}, .taps = {{3, 3}}};
    uint32_t computed = 0;
    for (uint32_t seed = GetParam() * 1000; computed < 5; ++seed) {
        ConvCase conv = random_case_in_time(seed, range, 3);
        ConvProblem& p = conv.shape;
        if (seed % 3 == 0) p.input = p.weight = Element::F16;
        if (p.empty() || p.d_out() < 2 || choose_winograd_config(conv.problem(), chip_of_sms(4, 99 * 1024)) == nullptr)
            continue;
        ++computed;
        EXPECT_EQ(winograd_disagreement(conv), "") << "problem " << seed << ": " << conv.problem().to_string();
    }
}

INSTANTIATE_TEST_SUITE_P(FiveProblems, RandomWinogradOfSm80, testing::Range(0u, test::kAddressSanitized ? 1u : 4u));

/// Faults built into the kernel: under every schedule the host model names them, or the results are wrong.
template <ConvFault kFault>
void expect_caught(const ConvProblem& problem, const std::string& sentence) {
    ConvCase conv{problem};
    conv.winograd = Winograd::Time;
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        ConvNumbers numbers(conv);
        std::string wrong = WinogradConv(numbers, winograd_bf16_64x96).run<winograd_bf16_64x96, kFault>(seed);
        if (wrong.empty()) wrong = numbers.judge();
        EXPECT_NE(wrong.find(sentence), std::string::npos) << "seed " << seed << ": " << wrong;
    }
}

const ConvProblem kPair = causal3d(2, 6, 9, 32, 64, 3, 3);

TEST(WinogradFaultsOfSm80, AMissingWaitIsCaught) {
    expect_caught<ConvFault::NoWait>(kPair, "still writes: that thread has not waited for it");
}
TEST(WinogradFaultsOfSm80, AMissingBarrierIsCaught) { expect_caught<ConvFault::NoBarrier>(kPair, "shared+"); }
TEST(WinogradFaultsOfSm80, AStageThatIsFilledWhileItIsReadIsCaught) {
    expect_caught<ConvFault::LoadsIntoReadStage>(kPair, "shared+");
}
TEST(WinogradFaultsOfSm80, AWrongSwizzlePhaseIsCaught) { expect_caught<ConvFault::SwizzledByRow>(kPair, "expected"); }
TEST(WinogradFaultsOfSm80, BusyBanksAreCaughtThoughTheResultIsTrue) {
    expect_caught<ConvFault::UnswizzledBothWays>(kPair, "bank conflicts");
}
TEST(WinogradFaultsOfSm80, ReadingBesideTheImageIsCaught) {
    expect_caught<ConvFault::HaloNotZeroed>(kPair, "expected");
}
TEST(WinogradFaultsOfSm80, AWrongSignIsCaught) { expect_caught<ConvFault::WrongTransformSign>(kPair, "expected"); }
TEST(WinogradFaultsOfSm80, AMissingButterflyIsCaught) { expect_caught<ConvFault::NoButterfly>(kPair, "expected"); }
TEST(WinogradFaultsOfSm80, AStagingOverARingThatIsReadIsCaught) {
    expect_caught<ConvFault::StagesWhileOthersMultiply>(kPair, "conv_epilogue.hpp");
}
TEST(WinogradFaultsOfSm80, NoneOfThemIsNoFault) { expect_caught<ConvFault::None>(kPair, ""); }

}  // namespace
}  // namespace kinetograph::sm80
