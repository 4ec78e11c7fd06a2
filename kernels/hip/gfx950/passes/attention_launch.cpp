#include <algorithm>
#include <array>
#include <cmath>
#include <kinetograph/kernels/hip/gfx950/passes/attention_launch.hpp>

namespace kinetograph::gfx950 {
namespace {

constexpr std::array<uint32_t, 5> kWidths{64, 128, 256, 384, 1024};
constexpr uint32_t kWidestWhole = 384;  // wider ones are taken in slices
constexpr uint32_t kMostSplits = 16;
constexpr uint32_t kPaddedTokens = 64;  // a tile's keys at most
constexpr double kLeastGain = 0.95;     // of splitting the keys, whose sums take a workspace
constexpr uint32_t kFilling = 2;        // tiles of the ring that are loaded before the first is used

/// Clocks of a tile of keys in the compiled main loop, read from the machine code by `tools/gfx950/estimate.py`.
struct TileCost {
    uint32_t bytes, width;   ///< of an element; of the head
    int64_t clocks, stated;  ///< where LDS gives kLdsReadBytes a clock, and kStatedLdsReadBytes
};
constexpr TileCost kTileCosts[] = {
#define KG_ATTENTION_COST(bytes, width, clocks, stated) {bytes, width, clocks, stated},
#include <kinetograph/kernels/hip/gfx950/passes/attention_costs.inc>
#undef KG_ATTENTION_COST
};

uint32_t tile_keys(const AttentionProblem& problem) { return 128 / element_bytes(problem.storage); }

uint32_t width_of(const AttentionProblem& problem) {
    return *std::find_if(kWidths.begin(), kWidths.end(),
                         [&](uint32_t width) { return width >= static_cast<uint64_t>(problem.channels); });
}

/// How the queries and the channels of a frame are cut into workgroups.
struct Cut {
    uint32_t queries, threads, slices;
};

Cut cut_of(const AttentionProblem& problem) {
    using Whole = AttentionConfig<Element::BF16, 64>;  // for what all configs of a kind share
    using Sliced = AttentionConfig<Element::BF16, kWidths.back(), kAttentionSlice>;
    if (width_of(problem) <= kWidestWhole) return {Whole::kQueries, Whole::kThreads, 1};
    return {Sliced::kQueries, Sliced::kThreads, workgroups(static_cast<uint64_t>(problem.channels), kAttentionSlice)};
}

uint32_t padded_tokens(const AttentionProblem& problem) {
    return workgroups(static_cast<uint64_t>(problem.tokens), kPaddedTokens) * kPaddedTokens;
}

constexpr uint64_t aligned(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

int64_t attention_key_tiles(const AttentionProblem& problem, uint32_t splits) {
    const auto tokens = static_cast<uint64_t>(problem.tokens);
    const Cut cut = cut_of(problem);
    const uint64_t blocks = uint64_t{workgroups(tokens, cut.queries)} * cut.slices;
    const uint64_t tiles = workgroups(tokens, tile_keys(problem));
    const uint64_t rounds = (blocks * splits + problem.compute_units - 1) / problem.compute_units;
    return static_cast<int64_t>(rounds * ((tiles + splits - 1) / splits + kFilling));
}

uint64_t attention_bytes(const AttentionProblem& problem, uint32_t splits) {
    const uint64_t element = element_bytes(problem.storage);
    const auto output = static_cast<uint64_t>(problem.tokens * problem.channels);
    return 2 * element * width_of(problem) * padded_tokens(problem) +
           (splits > 1 ? output * (2 * sizeof(float) * splits + element) : 0);
}

double attention_clocks(const AttentionProblem& problem, uint32_t splits) {
    const conv::Chip chip = mi355x();
    const TileCost& cost = *std::find_if(std::begin(kTileCosts), std::end(kTileCosts), [&](const TileCost& row) {
        return row.bytes == element_bytes(problem.storage) && row.width == width_of(problem);
    });
    const int64_t tile = problem.lds_read_bytes < kStatedLdsReadBytes ? cost.clocks : cost.stated;
    return static_cast<double>(attention_key_tiles(problem, splits) * tile) +
           streaming_seconds(static_cast<double>(attention_bytes(problem, splits)), chip) * chip.clocks_per_second;
}

double attention_seconds(const AttentionProblem& problem, const conv::Chip& chip) {
    const uint32_t splits = attention_splits(problem);
    return (splits > 1 ? 3 : 2) * conv::kLaunchSeconds + attention_clocks(problem, splits) / chip.clocks_per_second;
}

uint32_t attention_splits(const AttentionProblem& problem) {
    const uint32_t tiles = workgroups(static_cast<uint64_t>(problem.tokens), tile_keys(problem));
    uint32_t best = 1;
    for (uint32_t splits = 2; splits <= std::min(kMostSplits, tiles); ++splits)
        if (attention_clocks(problem, splits) < attention_clocks(problem, best)) best = splits;
    return attention_clocks(problem, best) < kLeastGain * attention_clocks(problem, 1) ? best : 1;
}

Refusal refusal(const AttentionProblem& problem) {
    const std::string pass = "attention";
    if (problem.tokens < 1) return pass + " over " + std::to_string(problem.tokens) + " tokens";
    if (problem.channels < 1 || problem.channels % 8 != 0 || problem.channels > kWidths.back()) {
        return pass + " of a head of " + std::to_string(problem.channels) +
               " channels: the kernels take multiples of 8 up to " + std::to_string(kWidths.back());
    }
    if (problem.tokens > static_cast<int64_t>(kMostFrameBytes)) return refuse_bytes(pass, "qkv", problem.tokens);
    const int64_t element = element_bytes(problem.storage);
    if (auto refused = refuse_bytes(pass, "qkv", problem.tokens * 3 * problem.channels * element)) return refused;
    return refuse_bytes(pass, "transposed values", int64_t{width_of(problem)} * padded_tokens(problem) * element);
}

AttentionPlan plan(const AttentionProblem& problem) {
    const auto tokens = static_cast<uint64_t>(problem.tokens);
    const uint32_t keys = tile_keys(problem), element = element_bytes(problem.storage);
    const std::string type = element_name(problem.storage);
    AttentionPlan plan;
    plan.width = width_of(problem);
    plan.padded_tokens = padded_tokens(problem);
    plan.split_tokens = workgroups(workgroups(tokens, keys), attention_splits(problem)) * keys;
    plan.splits = workgroups(tokens, plan.split_tokens);  // each has keys
    plan.values = {"attention", element == 2 ? "kinetograph_attention_values_16" : "kinetograph_attention_values_32",
                   workgroups(plan.padded_tokens, 4 * 32), plan.width / 64};
    const Cut cut = cut_of(problem);
    plan.attend = {"attention",
                   "kinetograph_attention_" + type + "_" + std::to_string(plan.width),
                   workgroups(tokens, cut.queries),
                   plan.splits,
                   cut.slices,
                   cut.threads};
    plan.workspace_bytes = aligned(uint64_t{plan.width} * plan.padded_tokens * element);
    if (plan.splits == 1) return plan;
    const uint64_t elements = tokens * static_cast<uint64_t>(problem.channels);
    plan.join = LaunchShape{"attention", "kinetograph_attention_join_" + type, workgroups(elements / 4)};
    plan.partial_offset = plan.workspace_bytes;
    plan.rows_offset = plan.partial_offset + aligned(plan.splits * elements * 4);
    plan.workspace_bytes = plan.rows_offset + aligned(plan.splits * tokens * 8);
    return plan;
}

AttentionLaunchParams make_params(const AttentionProblem& problem, const std::byte* qkv, std::byte* output,
                                  std::byte* workspace) {
    const AttentionPlan made = plan(problem);
    const auto tokens = static_cast<uint32_t>(problem.tokens), channels = static_cast<uint32_t>(problem.channels);
    auto* partial = reinterpret_cast<float*>(workspace + made.partial_offset);
    auto* rows = reinterpret_cast<float*>(workspace + made.rows_offset);
    constexpr float kLog2E = 1.44269504F;
    return {{qkv, workspace, tokens, channels, made.padded_tokens, made.width},
            {qkv, workspace, output, partial, rows, tokens, channels, made.padded_tokens, made.split_tokens,
             made.splits, kLog2E / std::sqrt(static_cast<float>(channels))},
            {partial, rows, output, tokens, channels, made.splits}};
}

}  // namespace kinetograph::gfx950
