#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <kinetograph/kernels/cuda/sm80/plan.hpp>
#include <kinetograph/kernels/cuda/sm90/attention_products.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_configs.hpp>
#include <kinetograph/kernels/cuda/sm90/plan.hpp>
#include <kinetograph/kernels/cuda/sm90/score_passes.hpp>

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
TEST(Sm90Attention, AddsToTheOutputAndStoresTheNormBeside) {
    expect_agrees<kDecoders>({.tokens = 330, .adds = true});
    expect_agrees<AttentionConfig{Element::F16, 384}>({.tokens = 140, .adds = true}, 1);
    for (const uint32_t tokens : {1u, 63u, 65u, 129u, 200u}) expect_agrees<kNarrow>({.tokens = tokens, .adds = true});
    expect_agrees<AttentionConfig{Element::BF16, 192}>({.tokens = 70, .frames = 8, .channels = 136, .adds = true}, 1);
    expect_agrees<AttentionConfig{Element::F16, 256}>({.tokens = 90, .channels = 200, .adds = true});
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
    const auto& method = std::get<conv::OpMethodOf<conv::AttentionProblem>>(operators().front());
    conv::Chip chip = chip_of_sms(132);
    const auto reasons = [&](Element element, int64_t channels) {
        return conv::reasons(method.gates, {{16, channels, element, element}, chip});
    };
    EXPECT_EQ(reasons(Element::BF16, 384), "");
    EXPECT_EQ(reasons(Element::F32, 384), "wants bf16 or fp16, met F32");
    EXPECT_EQ(reasons(Element::BF16, 392), "wants a head of 72 to 384 channels, a multiple of 8, met 392");
    EXPECT_TRUE(method.runs_on(chip));
    chip.architecture = "sm_80";
    EXPECT_FALSE(method.runs_on(chip));
}
TEST(Sm90AttentionChoice, PredictsWhatAnH200TookWithinATenth) {
    const conv::Chip h200 = chip_of_sms(132);
    const auto seconds = [&](std::span<const conv::OpMethod> methods, int64_t tokens) {
        return std::get<conv::OpMethodOf<conv::AttentionProblem>>(methods.front()).plan({tokens, 384}, h200).seconds;
    };
    EXPECT_NEAR(seconds(operators(), 88 * 160), 0.52e-3, 0.052e-3);
    EXPECT_NEAR(seconds(operators(), 60 * 104), 0.24e-3, 0.024e-3);
    EXPECT_NEAR(seconds(sm80::operators(), 88 * 160), 2.07e-3, 0.207e-3);
    EXPECT_NEAR(seconds(sm80::operators(), 60 * 104), 0.82e-3, 0.082e-3);
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
TEST(Sm90AttentionFaults, ResultsThatAreAddedBeforeTheOutputHasLandedAreCaught) {
    expect_caught<AttentionFault::NoResidualWait>({.tokens = 70, .adds = true});
}
TEST(Sm90AttentionFaults, NormsThatAreStagedWhileTheResultsAreReadAreCaught) {
    expect_caught<AttentionFault::NoReadWait>({.tokens = 70, .adds = true});
}

constexpr ConvConfig kOverlap = tile_config(Element::BF16, 128, 2, 1, 1, 64, Epilogues::Overlap);

/// products-sm90 on the host model: every launch of its plan.
std::string products_disagreement(const AttentionCase& attention, uint64_t seed) {
    sm80::AttentionNumbers numbers(attention, Element::BF16);
    const conv::AttentionProblem problem{attention.tokens, attention.channels};
    const conv::OpPlan plan = plan_products(problem, chip_of_sms(3));
    struct alignas(256) Line {
        float at[64];
    };
    std::vector<Line> workspace(plan.workspace_bytes / sizeof(Line), Line{{std::nanf("")}});
    std::deque<isa::TensorMapDesc> maps;
    const auto qkv = numbers.qkv().const_addresses();
    const auto output = numbers.output().addresses();
    const auto steps =
        plan.steps({.input = qkv, .output = output, .workspace = reinterpret_cast<std::byte*>(workspace.data())},
                   [&maps](const isa::TensorMapDesc& desc) { return host_model::model_map(maps.emplace_back(desc)); });
    for (const conv::ConvStep& step : steps) {
        const auto& launch = std::get<conv::ConvLaunch>(step);
        const std::byte* params = launch.arguments.storage.data();
        const auto outcome =
            host_model::run({.grid = {launch.grid[0], launch.grid[1], launch.grid[2]},
                             .threads = launch.threads,
                             .shared_bytes = launch.shared_bytes,
                             .registers = 168,
                             .seed = seed},
                            [&] {
                                if (launch.kernel == 0)
                                    TransposeKernel::run(*reinterpret_cast<const TransposeParams*>(params));
                                if (launch.kernel == 1)
                                    ConvKernel<with_sums(tile_config(Element::BF16, 128, 3, 1, 1, 64))>::run(
                                        *reinterpret_cast<const SumConvParams*>(params));
                                if (launch.kernel == 2)
                                    SoftmaxKernel::run(*reinterpret_cast<const SoftmaxParams*>(params));
                                if (launch.kernel == 3 && plan.kernels[3].kernel == "sm90_conv_bf16_n96_32x8_1_32")
                                    ConvKernel<tile_config(Element::BF16, 96, 4, 1, 1, 32)>::run(
                                        *reinterpret_cast<const ConvParams*>(params));
                                if (launch.kernel == 3 && plan.kernels[3].kernel.ends_with("n128_16x8_1_64_overlap"))
                                    ConvKernel<kOverlap>::run(*reinterpret_cast<const ConvParams*>(params));
                                if (launch.kernel == 3 && plan.kernels[3].kernel == "sm90_conv_bf16_n128_24x8_1_64")
                                    ConvKernel<tile_config(Element::BF16, 128, 3, 1, 1, 64)>::run(
                                        *reinterpret_cast<const ConvParams*>(params));
                                if (launch.kernel == 3 && plan.kernels[3].kernel == "sm90_conv_bf16_n192_16x8_1_64")
                                    ConvKernel<tile_config(Element::BF16, 192, 2, 1, 1, 64)>::run(
                                        *reinterpret_cast<const ConvParams*>(params));
                            });
        if (outcome.fault) return *outcome.fault;
    }
    return numbers.judge(attention.tokens);
}

TEST(Sm90AttentionByProducts, AgreesWithFp64) {
    for (const AttentionCase& attention :
         {AttentionCase{.tokens = 8, .channels = 448}, AttentionCase{.tokens = 216, .frames = 2, .channels = 448},
          AttentionCase{.tokens = 320, .spread = 12, .channels = 512}}) {
        for (uint64_t seed = 0; seed < kSchedules; ++seed)
            EXPECT_EQ(products_disagreement(attention, seed), "") << attention.tokens << " tokens, seed " << seed;
    }
}

TEST(Sm90AttentionByProducts, TakesTheWideHeadsOfWan22AndSaysWhyNotOthers) {
    const conv::Chip h200 = chip_of_sms(132);
    const conv::OpPlan plan = plan_products({3520, 1024}, h200);
    EXPECT_LT(plan.seconds, 0.4e-3);
    EXPECT_LT(plan.workspace_bytes, 96ULL << 20U);
    // A larger picture's queries come in blocks.
    EXPECT_LT(plan_products({32'640, 1024}, h200).workspace_bytes, 640ULL << 20U);
    EXPECT_EQ(conv::reasons(products_gates(), {{100, 384, Element::F16, Element::F16}, h200}),
              "wants bf16, met F16; wants a head of more than 384 channels, a multiple of 64, met 384; "
              "wants a number of tokens that is a multiple of 8, met 100");
}

}  // namespace
}  // namespace kinetograph::sm90
