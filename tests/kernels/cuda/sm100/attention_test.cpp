#include <gtest/gtest.h>

#include <kinetograph/kernels/cuda/sm100/attention_kernel.hpp>
#include <kinetograph/kernels/cuda/sm100/attention_plan.hpp>

#include <kinetograph/tests/kernels/cuda/model_schedules.hpp>
#include <kinetograph/tests/kernels/cuda/sm90/model_attention.hpp>

/// The attention on the host model, and faults that it must find.
namespace kinetograph::sm100 {
namespace {

using host_model::kSchedules;
using sm80::AttentionCase;

template <AttentionConfig kConfig, AttentionFault kFault = AttentionFault::None>
std::string disagreement(AttentionCase attention, uint64_t seed, uint32_t tiles = 0) {
    if (attention.channels == 0) attention.channels = kConfig.width;
    return sm90::attention_disagreement<AttentionKernel<kConfig, kFault>>(
        kConfig.element, attention_cta(attention.channels), attention, seed, tiles);
}

template <AttentionConfig kConfig>
void expect_agrees(const AttentionCase& attention, uint64_t schedules = kSchedules, uint32_t tiles = 0) {
    for (uint64_t seed = 0; seed < schedules; ++seed)
        EXPECT_EQ((disagreement<kConfig>(attention, seed, tiles)), "") << attention.tokens << " tokens, seed " << seed;
}

constexpr AttentionConfig kDecoders{Element::BF16, 384}, kNarrow{Element::BF16, 128};

TEST(Sm100Attention, AgreesWithFp64OnTheDecodersWidth) {
    expect_agrees<kDecoders>({.tokens = 200});
    expect_agrees<AttentionConfig{Element::F16, 384}>({.tokens = 140}, 1);
}
TEST(Sm100Attention, AgreesAtEveryRaggedEdge) {
    for (const uint32_t tokens : {1u, 8u, 31u, 63u, 64u, 65u, 127u, 128u, 129u, 191u, 200u})
        expect_agrees<kNarrow>({.tokens = tokens});
}
TEST(Sm100Attention, AgreesForDrawnSpreadsAndHeads) {
    for (uint32_t i = 0; i < 8; ++i)
        expect_agrees<kNarrow>({.tokens = 17 + 29 * i, .spread = 1.0 + i, .channels = 72 + 8 * (i * 5 % 8)});
}
TEST(Sm100Attention, GoesRoundTheRingOfStagesMoreThanTwice) {
    expect_agrees<kDecoders>({.tokens = 450}, 1, 1);
    expect_agrees<AttentionConfig{Element::BF16, 192}>({.tokens = 900}, 1, 1);
    expect_agrees<AttentionConfig{Element::F16, 256}>({.tokens = 900}, 1, 1);
}
TEST(Sm100Attention, TakesSeveralFramesAndLaunches) { expect_agrees<kNarrow>({.tokens = 70, .frames = 9}, 1); }
TEST(Sm100Attention, FollowsSharpWeights) { expect_agrees<kNarrow>({.tokens = 300, .spread = 12}); }

template <AttentionFault kFault>
void expect_caught(const AttentionCase& attention = {.tokens = 500, .spread = 3}) {
    for (uint64_t seed = 0; seed < kSchedules; ++seed)
        EXPECT_NE((disagreement<kNarrow, kFault>(attention, seed, 1)), "") << "seed " << seed;
}

TEST(Sm100AttentionFaults, NoneOfThemIsNoFault) { expect_agrees<kNarrow>({.tokens = 500, .spread = 3}, kSchedules, 1); }
TEST(Sm100AttentionFaults, BarriersThatAreNotPublishedAreCaught) {
    expect_caught<AttentionFault::NoBarrierInitFence>();
}
TEST(Sm100AttentionFaults, AMissingWaitForTheQueriesIsCaught) { expect_caught<AttentionFault::NoQueryWait>(); }
TEST(Sm100AttentionFaults, AMissingWaitForAStageIsCaught) { expect_caught<AttentionFault::NoStageWait>(); }
TEST(Sm100AttentionFaults, ScoresThatAreReadTooEarlyAreCaught) { expect_caught<AttentionFault::NoScoresWait>(); }
TEST(Sm100AttentionFaults, ScoresThatAreOverwrittenTooEarlyAreCaught) { expect_caught<AttentionFault::NoFreeWait>(); }
TEST(Sm100AttentionFaults, AMissingWaitForTheWeightsIsCaught) { expect_caught<AttentionFault::NoWeightWait>(); }
TEST(Sm100AttentionFaults, AMissingFenceAfterTheWeightsIsCaught) { expect_caught<AttentionFault::NoWeightFence>(); }
TEST(Sm100AttentionFaults, WeightsThatAreOverwrittenTooEarlyAreCaught) {
    expect_caught<AttentionFault::WeightsTooEarly>();
}
TEST(Sm100AttentionFaults, AWrongStrideOfValuesIsCaught) { expect_caught<AttentionFault::WrongValueStride>(); }
TEST(Sm100AttentionFaults, WeightsOfKeysPastTheLastAreCaught) {
    expect_caught<AttentionFault::KeysNotMasked>({.tokens = 70});
}
TEST(Sm100AttentionFaults, AMissingFenceAfterTheResultsIsCaught) { expect_caught<AttentionFault::NoResultFence>(); }

}  // namespace
}  // namespace kinetograph::sm100
