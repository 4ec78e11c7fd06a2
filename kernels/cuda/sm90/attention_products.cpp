#include <algorithm>
#include <cmath>
#include <kinetograph/kernels/conv/counts.hpp>
#include <kinetograph/kernels/cuda/host/cost.hpp>
#include <kinetograph/kernels/cuda/sm90/attention_plan.hpp>
#include <kinetograph/kernels/cuda/sm90/attention_products.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_maps.hpp>
#include <kinetograph/kernels/cuda/sm90/plan.hpp>
#include <kinetograph/kernels/cuda/sm90/score_passes.hpp>

namespace kinetograph::sm90 {
namespace {

using conv::AttentionProblem;
using conv::ceil_div;
using conv::ConvLaunch;
using conv::ConvProblem;
using conv::u32;
using conv::u64;

constexpr int64_t kTileQueries = 192;
constexpr int64_t kScoreBytes = int64_t{512} << 20;  // of scores and weights that exist at a time, about

/// What queries take of the keys, or weights of the values.
ConvProblem product_of(int64_t rows, int64_t c_in, int64_t k, Element output) {
    return product_problem(rows, c_in, k, Element::BF16, output);
}

/// Where the parts of the workspace lie, and how many queries a block has.
struct Parts {
    explicit Parts(const AttentionProblem& p) {
        const int64_t fit = kScoreBytes / (6 * p.tokens) / kTileQueries * kTileQueries;
        queries = std::min(std::max(fit, kTileQueries), p.tokens);
        scores = conv::workspace_part(u64(p.channels * p.tokens * 2));
        weights = scores + conv::workspace_part(u64(queries * p.tokens * 4));
        bytes = weights + conv::workspace_part(u64(queries * p.tokens * 2));
    }
    int64_t queries = 0;
    uint64_t scores = 0, weights = 0, bytes = 0;
};

const NamedConvConfig& score_tile(const AttentionProblem& p, const conv::Chip& chip) {
    return *choose_sum_config(product_of(Parts(p).queries, p.channels, p.tokens, Element::F32), chip);
}
const NamedConvConfig& sum_tile(const AttentionProblem& p, const conv::Chip& chip) {
    return *choose_config(product_of(Parts(p).queries, p.tokens, p.channels, Element::BF16), chip);
}

ConvLaunch transpose_launch(const AttentionProblem& p, const std::byte* qkv, std::byte* transposed) {
    const TransposeParams params{.values = qkv + 4 * p.channels,
                                 .transposed = transposed,
                                 .tokens = u32(p.tokens),
                                 .channels = u32(p.channels),
                                 .pitch = u32(3 * p.channels)};
    return {.kernel = 0,
            .grid = {ceil_div(params.tokens, kTransposedTile), ceil_div(params.channels, kTransposedTile), 1},
            .threads = kScoreThreads,
            .shared_bytes = sizeof(TransposeKernel::Smem),
            .arguments = conv::Arguments::of(params)};
}

/// Queries and keys are read where they lie, in rows of query, key and value.
ConvLaunch score_launch(const ConvConfig& config, const AttentionProblem& p, int64_t first, int64_t queries,
                        const std::byte* qkv, std::byte* scores, uint32_t sms, const conv::EncodeMap& encode) {
    const ConvProblem product = product_of(queries, p.channels, p.tokens, Element::F32);
    const TileShape tile = tile_shape(config);
    const uint64_t row = u64(3 * p.channels * 2);
    SumConvParams params{};
    static_cast<ConvParams&>(params) = shape_params(tile, product, {});
    params.frames = 1;
    params.taps[0].count = 1;
    isa::TensorMapDesc input =
        input_map(tile, qkv + u64(first) * row, {u64(p.channels), u64(kProductColumns), u64(product.h)});
    input.stride_bytes = {row, u64(kProductColumns) * row};
    params.input[0] = encode(input);
    isa::TensorMapDesc keys = filter_map(tile, qkv + 2 * p.channels, {u64(p.channels), u64(p.tokens), 1, 1});
    keys.stride_bytes = {row, row, row};
    params.filter = encode(keys);
    params.sums[0] = reinterpret_cast<float*>(scores);
    params.h = u32(product.h);
    params.w = u32(product.w);
    params.c_out = u32(p.tokens);
    ConvLaunch launch = launch_of(config, params, sms);
    launch.kernel = 1;
    return launch;
}

ConvLaunch softmax_launch(const AttentionProblem& p, int64_t queries, const std::byte* scores, std::byte* weights) {
    const SoftmaxParams params{.scores = reinterpret_cast<const float*>(scores),
                               .weights = weights,
                               .tokens = u32(p.tokens),
                               .scale = softmax_scale(p.channels)};
    return {.kernel = 2,
            .grid = {u32(queries), 1, 1},
            .threads = kScoreThreads,
            .shared_bytes = sizeof(SoftmaxKernel::Smem),
            .arguments = conv::Arguments::of(params)};
}

}  // namespace

std::span<const conv::Gate<conv::AttentionSubject>> products_gates() {
    using Subject = conv::AttentionSubject;
    static constexpr conv::Gate<Subject> kGates[] = {
        {"bf16", [](const Subject& s) { return s.problem.input.element == Element::BF16; },
         [](const Subject& s) { return std::string(conv::element_spelling(s.problem.input.element)); }},
        {"a head of more than 384 channels, a multiple of 64",
         [](const Subject& s) { return s.problem.channels > 384 && s.problem.channels % 64 == 0; }, conv::met_channels},
        {"a number of tokens that is a multiple of 8",
         [](const Subject& s) { return s.problem.tokens % kProductColumns == 0; },
         [](const Subject& s) { return std::to_string(s.problem.tokens); }},
    };
    return kGates;
}

conv::OpPlan plan_products(const AttentionProblem& problem, const conv::Chip& chip) {
    const NamedConvConfig& scores = score_tile(problem, chip);
    const NamedConvConfig& sums = sum_tile(problem, chip);
    const Parts parts(problem);
    const auto blocks = static_cast<double>(ceil_div(problem.tokens, parts.queries));
    const auto matrix = static_cast<double>(parts.queries * problem.tokens);
    const double passes = blocks * cuda::traffic_seconds(6 * matrix, chip) + (blocks + 1) * conv::kLaunchSeconds;
    const double products =
        blocks *
        (conv_seconds(scores.config, product_of(parts.queries, problem.channels, problem.tokens, Element::F32), chip) +
         conv_seconds(sums.config, product_of(parts.queries, problem.tokens, problem.channels, Element::BF16), chip));
    return {.kernels = {{"sm90_transpose_values", "score_passes"},
                        {std::string(scores.kernel), "wgmma_sums_bf16"},
                        {"sm90_softmax_bf16", "score_passes"},
                        {std::string(sums.kernel), "wgmma_conv_bf16"}},
            .workspace_bytes = parts.bytes,
            .seconds = passes + products,
            .steps = [problem, parts, scores = scores.config, sums = sums.config, sms = chip.compute_units](
                         const conv::OpTensors& tensors, const conv::EncodeMap& encode) {
                std::vector<conv::ConvStep> launches;
                std::byte* transposed = tensors.workspace;
                std::byte* const score = tensors.workspace + parts.scores;
                std::byte* const weight = tensors.workspace + parts.weights;
                for (size_t frame = 0; frame < tensors.input.size(); ++frame) {
                    const std::byte* qkv = tensors.input[frame];
                    launches.push_back(transpose_launch(problem, qkv, transposed));
                    for (int64_t first = 0; first < problem.tokens; first += parts.queries) {
                        const int64_t queries = std::min(parts.queries, problem.tokens - first);
                        launches.push_back(score_launch(scores, problem, first, queries, qkv, score, sms, encode));
                        launches.push_back(softmax_launch(problem, queries, score, weight));
                        const std::byte* input[] = {weight};
                        std::byte* output[] = {tensors.output[frame] + first * problem.channels * 2};
                        const conv::ConvTensors product{.input = input, .output = output, .residual = {}};
                        for (ConvLaunch& launch :
                             conv_launches(sums, product_of(queries, problem.tokens, problem.channels, Element::BF16),
                                           product, {.filter = transposed}, sms, encode)) {
                            launch.kernel = 3;
                            launches.push_back(launch);
                        }
                    }
                }
                return launches;
            }};
}

}  // namespace kinetograph::sm90
