#include <cmath>
#include <kinetograph/kernels/cuda/sm80/attention.hpp>
#include <kinetograph/kernels/cuda/sm80/attention_widths.hpp>

#include "attention_numbers.hpp"
#include "pass_run.hpp"

namespace kinetograph::sm80 {
namespace {

/// Runs it; what is wrong, or "". `tiles` of queries, from the first on; 0: all.
template <Element kElement, uint32_t kChannels, AttentionFault kFault = AttentionFault::None,
          uint32_t kWidth = kChannels>
std::string disagreement(AttentionCase attention, uint64_t seed, uint32_t tiles = 0) {
    if (attention.channels == 0) attention.channels = kWidth;
    AttentionNumbers numbers(attention, kElement);
    const AttentionParams params{table_of(numbers.qkv(), numbers.output()), attention.tokens, attention.channels,
                                 static_cast<float>(1 / std::sqrt(static_cast<double>(attention.channels)))};
    cuda::PassLaunch launch = attention_launch(attention.tokens, kWidth, attention.frames);
    if (tiles != 0) launch.grid[0] = tiles;
    EXPECT_EQ(launch.shared_bytes, sizeof(AttentionSmem<kChannels>));
    const std::string fault = run_pass(
        launch, [&] { AttentionKernel<kElement, kChannels, kFault, kWidth>::run(params); }, seed);
    return fault.empty() ? numbers.judge(std::min(attention.tokens, launch.grid[0] * kQueryTile)) : fault;
}

template <Element kElement, uint32_t kChannels>
void expect_agrees(const AttentionCase& attention, uint64_t schedules = 3, uint32_t tiles = 0) {
    for (uint64_t seed = 0; seed < schedules; ++seed) {
        EXPECT_EQ((disagreement<kElement, kChannels>(attention, seed, tiles)), "") << "seed " << seed;
    }
}

TEST(AttentionPass, AgreesWithFp64OnTheDecodersWidth) { expect_agrees<Element::BF16, 384>({.tokens = 70}, 1); }
TEST(AttentionPass, AgreesAtEveryRaggedEdge) {
    for (const uint32_t tokens : {1u, 31u, 32u, 33u, 64u, 65u, 100u}) {
        expect_agrees<Element::BF16, 64>({.tokens = tokens});
    }
}
TEST(AttentionPass, TakesSeveralFramesAndFloat16) { expect_agrees<Element::F16, 128>({.tokens = 40, .frames = 3}, 1); }
TEST(AttentionPass, FillsUpANarrowerHeadWithZeros) {
    expect_agrees<Element::BF16, 64>({.tokens = 70, .channels = 8});
    expect_agrees<Element::F16, 128>({.tokens = 40, .frames = 2, .channels = 96}, 1);
}
TEST(AttentionPass, TakesTheNarrowestKernelThatHoldsTheHead) {
    EXPECT_EQ(attention_width(8), 64u);
    EXPECT_EQ(attention_width(64), 64u);
    EXPECT_EQ(attention_width(264), 384u);
    EXPECT_EQ(attention_width(384), 384u);
    EXPECT_EQ(attention_width(392), 1024u);
    for (const int64_t refused : {-8, 0, 4, 100, 1032}) EXPECT_EQ(attention_width(refused), 0u) << refused;
}
TEST(AttentionPass, TakesAWideHeadInSlices) {
    constexpr auto kNone = AttentionFault::None;
    for (const AttentionCase& attention : {AttentionCase{.tokens = 33}, {.tokens = 9, .frames = 2, .channels = 520}})
        EXPECT_EQ((disagreement<Element::BF16, kAttentionSlice, kNone, 1024>(attention, 1)), "") << attention.channels;
    EXPECT_EQ((disagreement<Element::F16, kAttentionSlice, kNone, 1024>({.tokens = 9, .channels = 392}, 1)), "");
}
TEST(AttentionPass, FollowsMaximaThatMove) { expect_agrees<Element::BF16, 64>({.tokens = 160, .spread = 12}); }

// A picture of 1280x720 has 14,400 tokens. Queries sharpened so that a few keys, anywhere among them, make the sum.
TEST(AttentionPass, MeetsTwentyThousandKeys) {
#if defined(__SANITIZE_ADDRESS__)
    constexpr uint32_t kTokens = 2000;
#else
    constexpr uint32_t kTokens = 20'000;
#endif
    expect_agrees<Element::BF16, 64>({.tokens = kTokens, .spread = 12}, 1, 1);
}

template <AttentionFault kFault>
void expect_caught(const std::string& sentence) {
    for (uint64_t seed = 0; seed < 6; ++seed) {
        const std::string wrong = disagreement<Element::BF16, 64, kFault>({.tokens = 100}, seed);
        EXPECT_NE(wrong.find(sentence), std::string::npos) << "seed " << seed << ": " << wrong;
    }
}

TEST(AttentionFaults, KeysOverwrittenWhileOthersReadThemAreCaught) {
    expect_caught<AttentionFault::NoBarrierBeforeKeys>("with no barrier since");
}
TEST(AttentionFaults, ValuesOverwrittenWhileOthersReadThemAreCaught) {
    expect_caught<AttentionFault::NoBarrierBeforeValues>("shared+");
}
TEST(AttentionFaults, ValuesThatNobodyHasWaitedForAreCaught) {
    expect_caught<AttentionFault::NoWaitForValues>("still writes: that thread has not waited for it");
}
TEST(AttentionFaults, WeightsOfKeysPastTheLastAreCaught) { expect_caught<AttentionFault::KeysNotMasked>("expected"); }

}  // namespace
}  // namespace kinetograph::sm80
