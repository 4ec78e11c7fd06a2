#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include <kinetograph/tests/sanitizers.hpp>

#include "model_conv.hpp"

namespace kinetograph::sm90 {
namespace {

using sm80::causal3d;

/// Of a clip's later call.
ConvProblem carried(ConvProblem p) {
    p.pad.back = p.pad.front;
    p.carried = true;
    return p;
}

TEST(NarrowConv, AgreesWithFp64OnTheHeadOfADecoder) {
    ConvCase conv{causal3d(4, 31, 33, 96, 3, 3, 3)};
    conv.epilogue.float32 = true;
    EXPECT_EQ(narrow_disagreement(conv), "");
    conv.shape = carried(conv.shape);
    EXPECT_EQ(narrow_disagreement(conv), "") << "sums carried";
}

TEST(NarrowConv, AgreesWithFp64OnTheHeadOfADecoderOfFourPixelsAtOnce) {
    ConvCase conv{causal3d(2, 17, 31, 96, 12, 3, 3)};
    conv.epilogue.float32 = true;
    conv.residual = true;
    EXPECT_EQ(narrow_disagreement(conv), "");
}

/// Calls of a clip, one after another, of frames whose sums of the calls before are carried in place: together the
/// convolution in one piece, zeros before it.
std::string in_calls(const std::vector<int64_t>& calls, Element element, int64_t q) {
    const int64_t frames = std::accumulate(calls.begin(), calls.end(), int64_t{0});
    ConvCase whole{causal3d(frames, 18, 35, 40, 3, q, 3)};
    whole.shape.input = whole.shape.weight = element;
    whole.epilogue.float32 = true;
    ConvNumbers numbers(whole);
    const TensorAddresses addresses = numbers.addresses();
    std::vector<std::vector<float>> sums(static_cast<size_t>(q - 1), std::vector<float>(18 * 35 * 3));
    return numbers.judge_runs("carried", kSchedules, [&](uint64_t seed) -> std::string {
        for (std::vector<float>& of : sums) std::ranges::fill(of, 0.0F);
        auto first = addresses.input.begin();
        auto stored = addresses.output.begin();
        for (const int64_t count : calls) {
            ConvCase call = whole;
            call.shape = carried(call.shape);
            call.shape.d = count;
            TensorAddresses of;
            of.input = {first, first + count};
            of.output = {stored, stored + count};
            for (std::vector<float>& kept : sums) {
                of.output.push_back(reinterpret_cast<std::byte*>(kept.data()));
                of.residual.push_back(of.output.back());
            }
            const ModelConv model = frame_walk(call.problem(), numbers.parameters(), of);
            const std::string wrong = run_frame_walk(element, model, seed);
            if (!wrong.empty()) return wrong;
            first += count;
            stored += count;
        }
        return "";
    });
}

TEST(NarrowConv, CallsThatCarrySumsAreTheConvolutionInOnePiece) {
    EXPECT_EQ(in_calls({1, 4, 4}, Element::BF16, 3), "");
    EXPECT_EQ(in_calls({4, 2, 1, 1}, Element::F16, 3), "") << "calls of fewer frames than sums";
    EXPECT_EQ(in_calls({1, 3}, Element::BF16, 2), "") << "two taps in time";
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
        if (channels > 4) continue;
        conv.epilogue.float32 = true;
        conv.shape = carried(conv.shape);
        EXPECT_EQ(narrow_disagreement(conv), "") << channels << ", sums carried";
    }
}

TEST(NarrowConv, TheInstanceFollowsFromTapsAndChannels) {
    const auto chosen = [](int64_t c_in, int64_t channels, int64_t side) -> std::string_view {
        const ConvProblem p = causal3d(3, 32, 32, c_in, channels, 3, side);
        if (walks_frames(p)) return frame_walk_kernel(p.input.element);
        const NamedNarrowConfig* named = choose_narrow_config(p);
        return named == nullptr ? "" : named->kernel;
    };
    EXPECT_EQ(chosen(32, 3, 3), "sm90_frame_walk_bf16");
    EXPECT_EQ(chosen(256, 4, 3), "sm90_frame_walk_bf16");
    EXPECT_EQ(chosen(264, 3, 3), "");
    EXPECT_EQ(chosen(264, 4, 3), "sm90_narrow_bf16_3_wide");
    EXPECT_EQ(chosen(32, 12, 3), "sm90_narrow_bf16_3_wide");
    EXPECT_EQ(chosen(32, 6, 3), "");
    EXPECT_EQ(chosen(32, 16, 3), "");
    EXPECT_EQ(chosen(32, 32, 1), "sm90_narrow_bf16_1");
    EXPECT_EQ(chosen(32, 36, 1), "");
}

/// Of Wan 2.1 as its decoder declares it, bound by memory, and of Wan 2.2.
TEST(NarrowConv, TheHeadsOfDecodersArePredicted) {
    const conv::Chip h200 = chip_of_sms(132);
    const auto head = [&](int64_t h, int64_t w) {
        ConvProblem p = carried(causal3d(4, h, w, 96, 3, 3, 3));
        p.output = p.normed = Element::F32;
        return 1e3 * frame_walk_seconds(p, h200);
    };
    EXPECT_NEAR(head(704, 1280), 0.316, 0.02) << "of declared_h200_1280x704.json";
    EXPECT_NEAR(head(480, 832), 0.157, 0.01) << "of declared_h200_832x480.json";
    ConvProblem wide = causal3d(6, 352, 640, 256, 12, 3, 3);
    wide.pad.front = 0;
    EXPECT_NEAR(1e3 * narrow_seconds(choose_narrow_config(wide)->config, wide, h200), 0.485, 0.005);
}

class RandomNarrowConv : public testing::TestWithParam<uint32_t> {};

TEST_P(RandomNarrowConv, AgreesWithFp64) {
    for (uint32_t seed = GetParam() * 100; seed < GetParam() * 100 + 6; ++seed) {
        std::mt19937 dice(seed * 7919 + 1);
        const auto pick = [&](std::initializer_list<int64_t> values) { return values.begin()[dice() % values.size()]; };
        ConvCase conv{causal3d(pick({1, 2, 4}), pick({1, 5, 14, 30}), pick({1, 9, 30, 45}), pick({8, 16, 32, 40, 96}),
                               pick({1, 2, 3}), pick({1, 2, 3}), pick({1, 3}))};
        if (conv.shape.filter.r == 3) conv.shape.filter.k *= pick({1, 4});
        conv.shape.input = conv.shape.weight = pick({0, 1}) != 0 ? Element::F16 : Element::BF16;
        conv.numbers = static_cast<Numbers>(dice() % 3);
        conv.bias = pick({0, 1}) != 0;
        conv.residual = pick({0, 1}) != 0;
        conv.epilogue.beta = 0.5F;
        conv.shape.pad.back = conv.shape.filter.q > 1 ? pick({0, 1}) : 0;
        conv.epilogue.silu = pick({0, 1}) != 0;
        conv.epilogue.relu = !conv.epilogue.silu && pick({0, 1}) != 0;
        conv.epilogue.negative_slope = conv.bias ? 0.2F : 0.0F;
        conv.epilogue.float32 = pick({0, 1}) != 0;
        if (walks_frames(conv.shape) && conv.shape.filter.q > 1 && pick({0, 1}) != 0) {
            conv.shape = carried(conv.shape);
            conv.residual = conv.epilogue.silu = conv.epilogue.relu = false;
            conv.epilogue.float32 = true;
        }
        conv.seed = seed;
        EXPECT_EQ(narrow_disagreement(conv), "") << "problem " << seed << ": " << conv.problem().to_string();
    }
}

INSTANTIATE_TEST_SUITE_P(SixProblems, RandomNarrowConv, testing::Range(0u, test::kAddressSanitized ? 1u : 4u));

/// What a run with that mistake says, or what is wrong with its results.
template <ConvFault kFault>
std::string wide_outcome(uint64_t seed) {
    constexpr NarrowConfig kConfig = wide_narrow_config(Element::BF16);
    ConvNumbers numbers({causal3d(2, 20, 33, 96, 12, 3, 3)});
    const ModelConv model(numbers, kConfig, 1);
    std::string wrong = model.run<NarrowConvKernel<kConfig, kFault>, NarrowConvParams>(seed);
    return wrong.empty() ? numbers.judge() : wrong;
}
template <ConvFault kFault>
std::string walk_outcome(uint64_t seed) {
    ConvCase conv{carried(causal3d(2, 20, 33, 96, 3, 3, 3))};
    conv.epilogue.float32 = true;
    ConvNumbers numbers(conv);
    const ModelConv model = frame_walk(conv.problem(), numbers.parameters(), numbers.addresses(), 1);
    std::string wrong = model.run<FrameWalkKernel<Element::BF16, kFault>, FrameWalkParams>(seed);
    return wrong.empty() ? numbers.judge() : wrong;
}
template <ConvFault kFault>
void expect_caught_in_walk() {
    for (uint64_t seed = 0; seed < kSchedules; ++seed) EXPECT_NE(walk_outcome<kFault>(seed), "") << "seed " << seed;
}
template <ConvFault kFault>
void expect_caught() {
    expect_caught_in_walk<kFault>();
    for (uint64_t seed = 0; seed < kSchedules; ++seed)
        EXPECT_NE(wide_outcome<kFault>(seed), "") << "wide, seed " << seed;
}

TEST(NarrowConvFaults, NothingIsCaughtWithoutOne) {
    EXPECT_EQ(walk_outcome<ConvFault::None>(0), "");
    EXPECT_EQ(wide_outcome<ConvFault::None>(0), "");
}
TEST(NarrowConvFaults, BarriersThatAreNotPublishedAreCaught) { expect_caught<ConvFault::NoBarrierInitFence>(); }
TEST(NarrowConvFaults, AProducerThatStartsInTheWrongPhaseIsCaught) {
    expect_caught<ConvFault::ProducerStartsAtPhase0>();
}
TEST(NarrowConvFaults, AMissingWaitIsCaught) { expect_caught<ConvFault::NoInputWait>(); }
TEST(NarrowConvFaults, AStageThatIsReleasedWhileItIsReadIsCaught) { expect_caught<ConvFault::ReleasesEarly>(); }
TEST(NarrowConvFaults, AWrongTransactionCountIsCaught) { expect_caught<ConvFault::ExpectsTooFewBytes>(); }
TEST(NarrowConvFaults, APixelThatIsOffByOneIsCaught) { expect_caught<ConvFault::RowShiftOffByOne>(); }
TEST(NarrowConvFaults, AMissingBarrierBeforeTheSumIsCaught) {
    for (uint64_t seed = 0; seed < kSchedules; ++seed)
        EXPECT_NE(wide_outcome<ConvFault::NoStagingBarrier>(seed), "") << "seed " << seed;
}
TEST(NarrowConvFaults, FiltersThatHaveNotLandedAreCaught) { expect_caught_in_walk<ConvFault::NoFilterWait>(); }
TEST(NarrowConvFaults, SumsThatMoveOnToTheWrongOutputAreCaught) { expect_caught_in_walk<ConvFault::WrongTapOrder>(); }
TEST(NarrowConvFaults, SumsThatAreNotClearedAreCaught) { expect_caught_in_walk<ConvFault::KeepsSums>(); }
TEST(NarrowConvFaults, ABiasOnKeptSumsIsCaught) { expect_caught_in_walk<ConvFault::BiasOnKeptSums>(); }

}  // namespace
}  // namespace kinetograph::sm90
