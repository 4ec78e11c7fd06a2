#include <cmath>
#include <kinetograph/kernels/spirv/vulkan13/conv_configs.hpp>
#include <kinetograph/kernels/spirv/vulkan13/cost.hpp>
#include <kinetograph/kernels/spirv/vulkan13/gates.hpp>
#include <kinetograph/kernels/spirv/vulkan13/passes.hpp>

namespace kinetograph::vulkan13 {
namespace {

using conv::AttentionProblem;
using conv::ceil_div;
using conv::Chip;
using conv::ConvStep;
using conv::OpPlan;
using conv::OpTensors;
using conv::u32;

/// product_params.glsl has the same structure.
struct ProductParams {
    std::uint64_t left, right, to;
    std::uint32_t rows, columns, depth;
    std::uint32_t left_pitch, right_pitch, to_pitch;
    float factor;
    std::uint32_t float32;
};
/// softmax.comp has the same structure.
struct SoftmaxParams {
    std::uint64_t scores, to;
    std::uint32_t columns, scores_pitch, to_pitch;
};

constexpr std::uint32_t kSoftmaxThreads = 256;
/// Bounds the scores of a block of queries and their softmax, if it has more than 128: 4736 of a frame of 88x160.
constexpr std::int64_t kWorkspaceBytes = 384 << 20;

/// Queries whose scores are in the workspace at a time, and elements from one's to the next one's.
struct Block {
    std::int64_t queries, pitch;
    explicit Block(const AttentionProblem& p) : pitch(conv::round_up<std::int64_t>(p.tokens, 8)) {
        const std::int64_t query_bytes = pitch * (4 + element_bytes(p.input.element));
        queries = std::min(std::max<std::int64_t>(kWorkspaceBytes / query_bytes / 128 * 128, 128), p.tokens);
    }
    std::uint64_t scores_bytes() const { return conv::workspace_part(conv::u64(queries * pitch) * 4); }
};

/// A shader that multiplies, with the tile of a workgroup.
struct Product {
    conv::KernelName pipeline;
    std::uint32_t bm, bn, threads;
    conv::ConvLaunch launch(std::uint32_t kernel, const ProductParams& params) const {
        return {.kernel = kernel,
                .grid = {ceil_div(params.columns, bn), ceil_div(params.rows, bm), 1},
                .threads = threads,
                .arguments = conv::Arguments::of(params)};
    }
};

/// The plan of a frame after the other, a block of queries after the other: `scores` multiplies queries and keys, row
/// by row, `sums` their softmax and the values.
OpPlan plan_blocks(const AttentionProblem& p, const Product& scores, const Product& sums) {
    const Block block(p);
    OpPlan plan;
    plan.kernels = {scores.pipeline, pipeline(kSoftmax, p.input.element, {kSoftmaxThreads}), sums.pipeline};
    plan.workspace_bytes =
        block.scores_bytes() + conv::u64(block.queries * block.pitch) * element_bytes(p.input.element);
    plan.steps = [p, block, scores, sums](const OpTensors& t, const conv::EncodeMap&) {
        const std::uint32_t channels = u32(p.channels), tokens = u32(p.tokens), pitch = u32(block.pitch);
        const std::uint64_t token_bytes = std::uint64_t{channels} * element_bytes(p.input.element);
        const std::uint64_t scored = address(t.workspace), weights = scored + block.scores_bytes();
        std::vector<ConvStep> steps;
        for (std::size_t frame = 0; frame < t.input.size(); ++frame)
            for (std::int64_t first = 0; first < p.tokens; first += block.queries) {
                const std::uint64_t input = address(t.input[frame]), before = conv::u64(first) * token_bytes;
                const std::uint32_t rows = u32(std::min(block.queries, p.tokens - first));
                steps.emplace_back(scores.launch(0, {.left = input + 3 * before,
                                                     .right = input + token_bytes,
                                                     .to = scored,
                                                     .rows = rows,
                                                     .columns = tokens,
                                                     .depth = channels,
                                                     .left_pitch = 3 * channels,
                                                     .right_pitch = 3 * channels,
                                                     .to_pitch = pitch,
                                                     .factor = 1 / std::sqrt(static_cast<float>(channels)),
                                                     .float32 = 1}));
                steps.emplace_back(conv::ConvLaunch{
                    .kernel = 1,
                    .grid = {rows, 1, 1},
                    .threads = kSoftmaxThreads,
                    .arguments = conv::Arguments::of(SoftmaxParams{scored, weights, tokens, pitch, pitch})});
                steps.emplace_back(sums.launch(2, {.left = weights,
                                                   .right = input + 2 * token_bytes,
                                                   .to = address(t.output[frame]) + before,
                                                   .rows = rows,
                                                   .columns = channels,
                                                   .depth = tokens,
                                                   .left_pitch = pitch,
                                                   .right_pitch = 3 * channels,
                                                   .to_pitch = channels,
                                                   .factor = 1,
                                                   .float32 = 0}));
            }
        return steps;
    };
    return plan;
}

OpPlan plan_by_tiles(const AttentionProblem& p, const Chip& chip) {
    const auto product = [&](std::int64_t columns, std::uint32_t by_column) {
        const Tile& tile = choose_tile(Block(p).queries, columns, chip);
        return Product{
            pipeline(kProduct, p.input.element, {tile.threads(), tile.bm, tile.bn, tile.tm, tile.tn, by_column}),
            tile.bm, tile.bn, tile.threads()};
    };
    return plan_blocks(p, product(p.tokens, 1), product(p.channels, 0));
}

OpPlan plan_by_matrices(const AttentionProblem& p, const Chip& chip) {
    const auto product = [&](const ProductTile& tile, std::uint32_t by_column) {
        const std::uint32_t threads = tile.subgroups() * subgroup_size(chip);
        return Product{
            pipeline(kProductMatrix, p.input.element,
                     {threads, tile.bm, tile.bn, tile.bk, tile.subgroup_rows, tile.subgroup_columns, by_column}),
            tile.bm, tile.bn, threads};
    };
    return plan_blocks(p, product(kScoresTile, 1), product(kSumsTile, 0));
}

using AttentionSubject = conv::SubjectOf<AttentionProblem>;
constexpr conv::Gate<AttentionSubject> kMatrixGates[] = {
    {"16x16x16 matrices of bf16 or fp16 with float32 sums",
     [](const AttentionSubject& s) { return multiplies_matrices(s.chip, s.problem.input.element); },
     [](const AttentionSubject& s) {
         return std::string(conv::element_spelling(s.problem.input.element)) + " and " + s.chip.features;
     }},
    {"channels a multiple of 8", [](const AttentionSubject& s) { return s.problem.channels % 8 == 0; },
     [](const AttentionSubject& s) { return std::to_string(s.problem.channels); }},
    {"shared memory for a tile",
     [](const AttentionSubject& s) {
         return std::max(kScoresTile.shared_bytes(), kSumsTile.shared_bytes()) <= s.chip.shared_bytes_per_block;
     },
     [](const AttentionSubject& s) { return std::to_string(s.chip.shared_bytes_per_block) + " bytes"; }},
};

}  // namespace

conv::OpMethod attention_by_matrices() {
    return conv::OpMethodOf<AttentionProblem>{"matrices-vulkan13", runs_on_vulkan, kMatrixGates, plan_by_matrices,
                                              false};
}
conv::OpMethod attention_by_tiles() {
    return conv::OpMethodOf<AttentionProblem>{"tiles-vulkan13", runs_on_vulkan, {}, plan_by_tiles, false};
}

}  // namespace kinetograph::vulkan13
