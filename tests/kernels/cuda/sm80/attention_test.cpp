#include <cmath>
#include <kinetograph/kernels/cuda/sm80/attention.hpp>

#include "pass_run.hpp"

namespace kinetograph::sm80 {
namespace {

struct AttentionCase {
    uint32_t tokens = 1, frames = 1;
    double spread = 1;      ///< of the queries: large ones make sharp weights and moving maxima
    uint32_t channels = 0;  ///< 0: the kernel's width
    uint32_t tiles = 0;     ///< of queries, from the first on; 0: all
};

/// Runs it; what is wrong, or "". |error|: half a step of the result, and half a step of each weight.
template <Element kElement, uint32_t kChannels, AttentionFault kFault = AttentionFault::None>
std::string disagreement(const AttentionCase& attention, uint64_t seed) {
    constexpr Element kValue = kElement == Element::BF16 ? Element::BF16 : Element::F16;
    const double half_step = std::ldexp(1.0, kElement == Element::BF16 ? -8 : -11);
    const uint32_t tokens = attention.tokens, channels = attention.channels == 0 ? kChannels : attention.channels;
    Frames qkv = random_frames(attention.frames, int64_t{tokens} * 3 * channels, kValue, tokens);
    Frames output(attention.frames, int64_t{tokens} * channels * 2, 9);
    const auto at = [&](size_t frame, uint32_t token, uint32_t part, uint32_t c) {
        return load_value(kValue, qkv.frame(frame), (size_t{token} * 3 + part) * channels + c);
    };
    for (size_t frame = 0; frame < qkv.size(); ++frame) {
        for (uint32_t i = 0; i < tokens * channels; ++i) {
            const size_t query = size_t{i / channels} * 3 * channels + i % channels;
            store_value(kValue, qkv.frame(frame), query,
                        attention.spread * load_value(kValue, qkv.frame(frame), query));
        }
    }
    const double scale = 1 / std::sqrt(static_cast<double>(channels));
    const AttentionParams params{table_of(qkv, output), tokens, channels, static_cast<float>(scale)};
    PassLaunch launch = attention_launch(tokens, kChannels, attention.frames);
    if (attention.tiles != 0) launch.grid[0] = attention.tiles;
    const uint32_t queries = std::min(tokens, launch.grid[0] * kQueryTile);
    EXPECT_EQ(launch.shared_bytes, sizeof(AttentionSmem<kChannels>));
    const std::string fault = run_pass(
        launch, [&] { AttentionKernel<kElement, kChannels, kFault>::run(params); }, seed);
    if (!fault.empty()) return fault;
    if (!output.intact()) return "bytes outside the output were written";

    std::vector<double> weights(tokens), sums(channels), magnitudes(channels);
    for (size_t row = 0; row < size_t{attention.frames} * queries; ++row) {
        const size_t frame = row / queries;
        const auto query = static_cast<uint32_t>(row % queries);
        double highest = -1e300, total = 0, largest_sum = 0;
        for (uint32_t key = 0; key < tokens; ++key) {
            double score = 0, magnitude = 0;
            for (uint32_t c = 0; c < channels; ++c) {
                const double product = at(frame, query, 0, c) * at(frame, key, 1, c);
                score += product;
                magnitude += std::abs(product);
            }
            weights[key] = score * scale;
            highest = std::max(highest, weights[key]);
            largest_sum = std::max(largest_sum, magnitude * scale);
        }
        for (double& weight : weights) total += weight = std::exp(weight - highest);
        std::fill(sums.begin(), sums.end(), 0.0);
        std::fill(magnitudes.begin(), magnitudes.end(), 0.0);
        for (uint32_t key = 0; key < tokens; ++key) {
            if (weights[key] < 1e-15 * total) continue;
            for (uint32_t c = 0; c < channels; ++c) {
                sums[c] += weights[key] / total * at(frame, key, 2, c);
                magnitudes[c] += weights[key] / total * std::abs(at(frame, key, 2, c));
            }
        }
        // fp32 scores: channels additions, which the exponential turns into relative errors of the weights.
        const double score_error = 2 * channels * std::ldexp(1.0, -24) * largest_sum;
        for (uint32_t c = 0; c < channels; ++c) {
            const double found = load_value(kValue, output.frame(frame), size_t{query} * channels + c);
            const double allowed = half_step * std::abs(sums[c]) + (half_step + 2 * score_error) * magnitudes[c] + 1e-5;
            if (!(std::abs(found - sums[c]) <= allowed)) {
                return "token " + std::to_string(row) + " channel " + std::to_string(c) + " is " +
                       std::to_string(found) + ", expected " + std::to_string(sums[c]) + " within " +
                       std::to_string(allowed);
            }
        }
    }
    return "";
}

template <Element kElement, uint32_t kChannels>
void expect_agrees(const AttentionCase& attention, uint64_t schedules = 3) {
    for (uint64_t seed = 0; seed < schedules; ++seed) {
        EXPECT_EQ((disagreement<kElement, kChannels>(attention, seed)), "") << "seed " << seed;
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
    for (const int64_t refused : {-8, 0, 4, 100, 392}) EXPECT_EQ(attention_width(refused), 0u) << refused;
}
TEST(AttentionPass, FollowsMaximaThatMove) { expect_agrees<Element::BF16, 64>({.tokens = 160, .spread = 12}); }

// A picture of 1280x720 has 14,400 tokens. Queries sharpened so that a few keys, anywhere among them, make the sum.
TEST(AttentionPass, MeetsTwentyThousandKeys) {
#if defined(__SANITIZE_ADDRESS__)
    constexpr uint32_t kTokens = 2000;
#else
    constexpr uint32_t kTokens = 20'000;
#endif
    expect_agrees<Element::BF16, 64>({.tokens = kTokens, .spread = 12, .tiles = 1}, 1);
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
TEST(AttentionFaults, WeightsOfKeysBehindTheLastAreCaught) { expect_caught<AttentionFault::KeysNotMasked>("expected"); }

}  // namespace
}  // namespace kinetograph::sm80
