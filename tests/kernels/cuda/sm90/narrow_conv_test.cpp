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

TEST(NarrowConv, IntegersComeOutBitForBit) {
    ConvCase conv{causal3d(2, 15, 40, 40, 2, 2, 3)};
    conv.numbers = Numbers::Integers;
    EXPECT_EQ(narrow_disagreement(conv), "");
}

class RandomNarrowConv : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomNarrowConv, AgreesWithFp64) {
    for (uint32_t seed = GetParam() * 100; seed < GetParam() * 100 + 6; ++seed) {
        std::mt19937 dice(seed * 7919 + 1);
        const auto pick = [&](std::initializer_list<int64_t> values) { return values.begin()[dice() % values.size()]; };
        ConvCase conv{causal3d(pick({1, 2, 4}), pick({1, 5, 14, 30}), pick({1, 9, 30, 45}), pick({8, 16, 32, 40, 96}),
                               pick({1, 2, 3}), pick({1, 2, 3}), pick({1, 3}))};
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

INSTANTIATE_TEST_SUITE_P(SixProblems, RandomNarrowConv, testing::Range(0u, test::kAddressSanitized ? 2u : 4u));

/// What a run with that mistake says, or what is wrong with its results.
template <ConvFault kFault>
void expect_caught() {
    for (uint64_t seed = 0; seed < kSchedules; ++seed) {
        ConvNumbers numbers({causal3d(2, 20, 33, 96, 3, 3, 3)});
        const ModelConv model(numbers, 1);
        std::string wrong = model.run<NarrowConvKernel<Element::BF16, 3, kFault>, NarrowConvParams>(seed);
        if (wrong.empty()) wrong = numbers.judge();
        EXPECT_NE(wrong, "") << "seed " << seed;
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
