#include <gtest/gtest.h>

#include <kinetograph/kernels/cuda/sm80/plan.hpp>
#include <kinetograph/kernels/cuda/sm90/plan.hpp>

#include <kinetograph/tests/kernels/cuda/model_schedules.hpp>

#include "model_attention.hpp"
#include "model_conv.hpp"

namespace kinetograph::sm90 {
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

TEST(Sm90Attention, AgreesWithFp64OnTheDecodersWidth) {
    expect_agrees<kDecoders>({.tokens = 330});
    expect_agrees<AttentionConfig{Element::F16, 384}>({.tokens = 140}, 1);
}
TEST(Sm90Attention, AgreesAtEveryRaggedEdge) {
    for (const uint32_t tokens : {1u, 8u, 63u, 64u, 65u, 127u, 128u, 129u, 200u})
        expect_agrees<kNarrow>({.tokens = tokens});
}
// Rings of 4 to 9 stages, read in turns of 2 or 4: every phase of every slot comes by.
TEST(Sm90Attention, GoesRoundTheRingOfStagesMoreThanTwice) {
    expect_agrees<kDecoders>({.tokens = 640}, 1, 1);
    expect_agrees<AttentionConfig{Element::BF16, 192}>({.tokens = 900}, 1, 1);
    expect_agrees<AttentionConfig{Element::F16, 256}>({.tokens = 900}, 1, 1);
}
TEST(Sm90Attention, TakesSeveralFramesAndLaunches) { expect_agrees<kNarrow>({.tokens = 70, .frames = 9}, 1); }
TEST(Sm90Attention, FillsUpANarrowerHeadWithZeros) {
    expect_agrees<kNarrow>({.tokens = 70, .channels = 72});
    expect_agrees<AttentionConfig{Element::F16, 256}>({.tokens = 90, .frames = 2, .channels = 200}, 1);
}
TEST(Sm90Attention, FollowsMaximaThatMove) { expect_agrees<kNarrow>({.tokens = 300, .spread = 12}); }

// A picture of 1280x720 has 14,400 tokens. Queries sharpened so that a few keys, anywhere among them, make the sum.
TEST(Sm90Attention, MeetsFourteenThousandKeys) {
#if defined(__SANITIZE_ADDRESS__)
    constexpr uint32_t kTokens = 2000;
#else
    constexpr uint32_t kTokens = 14'400;
#endif
    expect_agrees<kNarrow>({.tokens = kTokens, .spread = 12}, 1, 1);
}

TEST(Sm90AttentionChoice, TakesTheNarrowestKernelThatHoldsTheHead) {
    EXPECT_EQ(attention_width(72), 128u);
    EXPECT_EQ(attention_width(192), 192u);
    EXPECT_EQ(attention_width(264), 384u);
    EXPECT_EQ(attention_width(384), 384u);
    for (const int64_t refused : {-8, 0, 64, 100, 392}) EXPECT_EQ(attention_width(refused), 0u) << refused;
}
TEST(Sm90AttentionChoice, SaysWhatItWants) {
    const conv::AttentionMethod& method = attention_methods().front();
    const auto without_build = [&](Element element, int64_t channels) {
        std::string reasons = method.reasons({16, channels, element});
        const size_t build = reasons.find("wants kernels for sm_90a in this build");
        if (build != std::string::npos) reasons.erase(build, reasons.find("; ", build) - build);
        return reasons;
    };
    EXPECT_EQ(without_build(Element::BF16, 384), "");
    EXPECT_NE(without_build(Element::F32, 384).find("wants bf16 or fp16, met F32"), std::string::npos);
    EXPECT_NE(without_build(Element::BF16, 392).find("wants a head of 72 to 384 channels, a multiple of 8, met 392"),
              std::string::npos);
    conv::Chip chip = chip_of_sms(132);
    EXPECT_TRUE(method.runs_on(chip));
    chip.architecture = "sm_80";
    EXPECT_FALSE(method.runs_on(chip));
}
TEST(Sm90AttentionChoice, PredictsWhatAnH200TookWithinATenth) {
    const conv::Chip h200 = chip_of_sms(132);
    const auto seconds = [&](std::span<const conv::AttentionMethod> methods, int64_t tokens) {
        return methods.front().plan({tokens, 384, Element::BF16}, h200).seconds;
    };
    EXPECT_NEAR(seconds(attention_methods(), 88 * 160), 0.52e-3, 0.052e-3);
    EXPECT_NEAR(seconds(attention_methods(), 60 * 104), 0.24e-3, 0.024e-3);
    EXPECT_NEAR(seconds(sm80::attention_methods(), 88 * 160), 2.07e-3, 0.207e-3);
    EXPECT_NEAR(seconds(sm80::attention_methods(), 60 * 104), 0.82e-3, 0.082e-3);
}

template <AttentionFault kFault>
void expect_caught(const AttentionCase& attention = {.tokens = 700, .spread = 3}) {
    for (uint64_t seed = 0; seed < kSchedules; ++seed)
        EXPECT_NE((disagreement<kNarrow, kFault>(attention, seed, 1)), "") << "seed " << seed;
}

TEST(Sm90AttentionFaults, NoneOfThemIsNoFault) { expect_agrees<kNarrow>({.tokens = 700, .spread = 3}, kSchedules, 1); }
TEST(Sm90AttentionFaults, BarriersThatAreNotPublishedAreCaught) { expect_caught<AttentionFault::NoBarrierInitFence>(); }
TEST(Sm90AttentionFaults, AWrongTransactionCountIsCaught) { expect_caught<AttentionFault::ExpectsTooFewBytes>(); }
TEST(Sm90AttentionFaults, AMissingWaitForTheQueriesIsCaught) { expect_caught<AttentionFault::NoQueryWait>(); }
TEST(Sm90AttentionFaults, AMissingWaitForAStageIsCaught) { expect_caught<AttentionFault::NoStageWait>(); }
TEST(Sm90AttentionFaults, AStageThatIsReleasedWhileItIsReadIsCaught) { expect_caught<AttentionFault::ReleasesEarly>(); }
TEST(Sm90AttentionFaults, AStageThatIsLoadedBeforeItsReleaseIsCaught) { expect_caught<AttentionFault::NoEmptyWait>(); }
TEST(Sm90AttentionFaults, ScoresThatAreReadTooEarlyAreCaught) { expect_caught<AttentionFault::NoFinalWait>(); }
TEST(Sm90AttentionFaults, AWrongStrideOfValuesIsCaught) { expect_caught<AttentionFault::WrongValueStride>(); }
TEST(Sm90AttentionFaults, AMissingFenceAfterTheWeightsIsCaught) { expect_caught<AttentionFault::NoWeightFence>(); }
TEST(Sm90AttentionFaults, WeightsOfKeysPastTheLastAreCaught) {
    expect_caught<AttentionFault::KeysNotMasked>({.tokens = 70});
}
TEST(Sm90AttentionFaults, SumsThatAreNotRescaledAreCaught) { expect_caught<AttentionFault::NotRescaled>(); }
TEST(Sm90AttentionFaults, AMissingFenceAfterTheResultsIsCaught) { expect_caught<AttentionFault::NoResultFence>(); }
TEST(Sm90AttentionFaults, AMissingBarrierAfterTheResultsIsCaught) { expect_caught<AttentionFault::NoResultBarrier>(); }

}  // namespace
}  // namespace kinetograph::sm90
