#include <gtest/gtest.h>

#include <random>

#include <kinetograph/tests/sanitizers.hpp>

#include "model_conv.hpp"

namespace kinetograph::sm90 {
namespace {

using sm80::causal3d;

TEST(NarrowConv, AgreesWithFp64OnTheHeadOfADecoder) {
    ConvCase conv{causal3d(2, 31, 33, 96, 3, 3, 3)};
    conv.epilogue.float32 = true;
    EXPECT_EQ(narrow_disagreement(conv), "");
}

TEST(NarrowConv, AgreesWithFp64OnTheHeadOfADecoderOfFourPixelsAtOnce) {
    ConvCase conv{causal3d(2, 17, 31, 96, 12, 3, 3)};
    conv.epilogue.float32 = true;
    conv.residual = true;
    EXPECT_EQ(narrow_disagreement(conv), "");
}

TEST(NarrowConv, IntegersComeOutBitForBit) {
    for (const int64_t channels : {2, 8, 12}) {
        ConvCase conv{causal3d(2, 15, 40, 40, channels, 2, 3)};
        conv.numbers = Numbers::Integers;
        EXPECT_EQ(narrow_disagreement(conv), "") << channels;
    }
}

TEST(NarrowConv, PositionsAndTapsAreNotSwapped) {
    for (const int64_t channels : {3, 4, 12}) {
        ConvCase conv{causal3d(2, 18, 33, 32, channels, 3, 3)};
        conv.numbers = Numbers::Coded;
        EXPECT_EQ(narrow_disagreement(conv), "") << channels;
    }
}

TEST(NarrowConv, TheInstanceFollowsFromTapsAndChannels) {
    const auto chosen = [](int64_t channels, int64_t side) {
        const NamedNarrowConfig* named = choose_narrow_config(causal3d(3, 32, 32, 32, channels, 3, side));
        return named == nullptr ? "" : named->kernel;
    };
    EXPECT_EQ(chosen(3, 3), "sm90_narrow_bf16_3");
    EXPECT_EQ(chosen(4, 3), "sm90_narrow_bf16_3_wide");
    EXPECT_EQ(chosen(12, 3), "sm90_narrow_bf16_3_wide");
    EXPECT_EQ(chosen(6, 3), "");
    EXPECT_EQ(chosen(16, 3), "");
    EXPECT_EQ(chosen(32, 1), "sm90_narrow_bf16_1");
    EXPECT_EQ(chosen(36, 1), "");
}

/// Of Wan 2.1, measured on an H200 at two sizes, and of Wan 2.2.
TEST(NarrowConv, TheHeadsOfDecodersArePredicted) {
    const auto milliseconds = [](int64_t h, int64_t w, int64_t c_in, int64_t channels) {
        ConvProblem p = causal3d(6, h, w, c_in, channels, 3, 3);
        p.pad.front = 0;
        return 1e3 * narrow_seconds(choose_narrow_config(p)->config, p, chip_of_sms(132));
    };
    EXPECT_NEAR(milliseconds(704, 1280, 96, 3) / 0.484, 1, 0.03);
    EXPECT_NEAR(milliseconds(480, 832, 96, 3) / 0.219, 1, 0.03);
    EXPECT_NEAR(milliseconds(352, 640, 256, 12), 0.485, 0.005);
}

class RandomNarrowConv : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomNarrowConv, AgreesWithFp64) {
    for (uint32_t seed = GetParam() * 100; seed < GetParam() * 100 + 6; ++seed) {
        std::mt19937 dice(seed * 7919 + 1);
        const auto pick = [&](std::initializer_list<int64_t> values) { return values.begin()[dice() % values.size()]; };
        ConvCase conv{causal3d(pick({1, 2, 4}), pick({1, 5, 14, 30}), pick({1, 9, 30, 45}), pick({8, 16, 32, 40, 96}),
                               pick({1, 2, 3}), pick({1, 2, 3}), pick({1, 3}))};
        if (conv.shape.filter.r == 3) conv.shape.filter.k *= pick({1, 4});
        conv.shape.dtype = pick({0, 1}) != 0 ? Element::F16 : Element::BF16;
        conv.numbers = static_cast<Numbers>(dice() % 3);
        conv.bias = pick({0, 1}) != 0;
        conv.residual = pick({0, 1}) != 0;
        conv.epilogue.beta = 0.5F;
        conv.shape.pad.back = conv.shape.filter.q > 1 ? pick({0, 1}) : 0;
        conv.epilogue.silu = pick({0, 1}) != 0;
        conv.epilogue.relu = !conv.epilogue.silu && pick({0, 1}) != 0;
        conv.epilogue.negative_slope = conv.bias ? 0.2F : 0.0F;
        conv.epilogue.float32 = pick({0, 1}) != 0;
        conv.seed = seed;
        EXPECT_EQ(narrow_disagreement(conv), "") << "problem " << seed << ": " << conv.problem().to_string();
    }
}

INSTANTIATE_TEST_SUITE_P(SixProblems, RandomNarrowConv, testing::Range(0u, test::kAddressSanitized ? 1u : 4u));

/// What a run with that mistake says, or what is wrong with its results.
template <NarrowConfig kConfig, ConvFault kFault>
std::string outcome(int64_t channels, uint64_t seed) {
    ConvNumbers numbers({causal3d(2, 20, 33, 96, channels, 3, 3)});
    const ModelConv model(numbers, kConfig, 1);
    std::string wrong = model.run<NarrowConvKernel<kConfig, kFault>, NarrowConvParams>(seed);
    return wrong.empty() ? numbers.judge() : wrong;
}
template <ConvFault kFault>
void expect_caught() {
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        EXPECT_NE((outcome<narrow_config(Element::BF16, 3), kFault>(3, seed)), "") << "seed " << seed;
        EXPECT_NE((outcome<wide_narrow_config(Element::BF16), kFault>(12, seed)), "") << "wide, seed " << seed;
    }
}

TEST(NarrowConvFaults, BarriersThatAreNotPublishedAreCaught) { expect_caught<ConvFault::NoBarrierInitFence>(); }
TEST(NarrowConvFaults, AProducerThatStartsInTheWrongPhaseIsCaught) {
    expect_caught<ConvFault::ProducerStartsAtPhase0>();
}
TEST(NarrowConvFaults, AMissingWaitIsCaught) { expect_caught<ConvFault::NoInputWait>(); }
TEST(NarrowConvFaults, AStageThatIsReleasedWhileItIsReadIsCaught) { expect_caught<ConvFault::ReleasesEarly>(); }
TEST(NarrowConvFaults, AWrongTransactionCountIsCaught) { expect_caught<ConvFault::ExpectsTooFewBytes>(); }
TEST(NarrowConvFaults, APixelThatIsOffByOneIsCaught) { expect_caught<ConvFault::RowShiftOffByOne>(); }
TEST(NarrowConvFaults, AMissingBarrierBeforeTheSumIsCaught) { expect_caught<ConvFault::NoStagingBarrier>(); }

}  // namespace
}  // namespace kinetograph::sm90
