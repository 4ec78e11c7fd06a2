#include <cmath>
#include <kinetograph/kernels/conv/attention.hpp>
#include <kinetograph/kernels/cuda/sm90/attention_kernel.hpp>
#include <kinetograph/kernels/cuda/sm90/attention_plan.hpp>
#include <kinetograph/kernels/cuda/sm90/attention_products.hpp>
#include <kinetograph/kernels/cuda/sm90/attention_widths.hpp>
#include <kinetograph/kernels/cuda/sm90/plan.hpp>

namespace kinetograph::sm90 {
namespace {

using conv::AttentionProblem;
using isa::TensorMapDesc;

constexpr int64_t kWidestDeclined = 64;  // channels: up to this width sm_80's kernels pad less

/// {channels, tokens} of one part of a frame, whose tokens are `pitch` bytes apart; box: one span of a
/// warpgroup's queries.
TensorMapDesc rows_map(const AttentionProblem& problem, const std::byte* first, uint64_t pitch) {
    const auto channels = static_cast<uint64_t>(problem.channels), tokens = static_cast<uint64_t>(problem.tokens);
    TensorMapDesc map = isa::dense_map(isa::MapMode::Tiled, problem.input.element, const_cast<std::byte*>(first), 2,
                                       {channels, tokens});
    map.stride_bytes[0] = pitch;
    map.swizzle = kAttentionSwizzle;
    map.box = {kSpanChannels, kWarpgroupQueries};
    return map;
}

TensorMapDesc key_value_map(const AttentionProblem& problem, const std::byte* keys) {
    const auto channels = static_cast<uint64_t>(problem.channels), tokens = static_cast<uint64_t>(problem.tokens);
    const uint64_t part = channels * 2;
    TensorMapDesc map = isa::dense_map(isa::MapMode::Tiled, problem.input.element, const_cast<std::byte*>(keys), 3,
                                       {channels, 2, tokens});
    map.stride_bytes = {part, 3 * part};
    map.swizzle = kAttentionSwizzle;
    map.box = {kSpanChannels, 1, kKeyTile};
    return map;
}

/// Clocks of a CTA for one tile of keys: its products at the rate of the tensor cores, the hand-over of each stage of
/// keys and of values, and the softmax. On an H200 a frame of 384 channels took 0.52 ms (14,080 tokens), 0.24 (6,240).
double clocks(const AttentionConfig& config) {
    constexpr double kProductClocks = double{kQueryTile} * kKeyTile / 1024, kStageClocks = 120, kSoftmaxClocks = 700;
    return kProductClocks * config.width + kStageClocks * 2 * tile_stages(config) + kSoftmaxClocks;
}

bool runs_on(const conv::Chip& chip) { return chip.cuda_architecture() == 90; }

/// Kernel sm90_attention_<type>_<width> of fat binary wgmma_attention_<type>.
conv::OpPlan plan(const AttentionProblem& problem, const conv::Chip& chip) {
    const uint32_t width = attention_width(problem.channels);
    return plan_attention(
        problem, chip,
        {std::string("sm90_attention_") + element_name(problem.input.element) + '_' + std::to_string(width),
         problem.input.element == Element::BF16 ? "wgmma_attention_bf16" : "wgmma_attention_f16"},
        attention_cta(width), clocks({problem.input.element, width}));
}

}  // namespace

AttentionCta attention_cta(uint32_t channels) {
#define KG_SIZE(width)                        \
    if (attention_width(channels) == (width)) \
        return {kAttentionThreads, sizeof(AttentionSmem<AttentionConfig{Element::BF16, width}>)};
    KG_SM90_ATTENTION_WIDTHS(KG_SIZE)
#undef KG_SIZE
    return {};
}

uint32_t attention_width(int64_t channels) {
    if (channels <= kWidestDeclined || channels % 8 != 0) return 0;
#define KG_FITS(width) \
    if (channels <= (width)) return width;
    KG_SM90_ATTENTION_WIDTHS(KG_FITS)
#undef KG_FITS
    return 0;
}

float softmax_scale(int64_t channels) {
    return static_cast<float>(1.4426950408889634 / std::sqrt(static_cast<double>(channels)));
}

std::span<const conv::Gate<conv::AttentionSubject>> attention_gates() {
    static constexpr conv::Gate<conv::AttentionSubject> kGates[] = {
        conv::kBf16OrF16Attention,
        {"a head of 72 to 384 channels, a multiple of 8",
         [](const conv::AttentionSubject& s) { return attention_width(s.problem.channels) != 0; }, conv::met_channels},
    };
    return kGates;
}

std::vector<conv::ConvLaunch> attention_launches(const AttentionProblem& problem, const AttentionCta& cta,
                                                 const conv::OpTensors& tensors, const conv::EncodeMap& encode) {
    const auto part = static_cast<uint64_t>(problem.channels) * 2;  // bytes of a token's query, key or value
    std::vector<conv::ConvLaunch> launches;
    for (size_t first = 0; first < tensors.input.size(); first += kMaxAttentionFrames) {
        const auto frames = static_cast<uint32_t>(std::min<size_t>(kMaxAttentionFrames, tensors.input.size() - first));
        AttentionParams params{};
        params.tokens = static_cast<uint32_t>(problem.tokens);
        params.channels = static_cast<uint32_t>(problem.channels);
        params.scale = softmax_scale(problem.channels);
        params.gamma = problem.adds ? tensors.parameters : nullptr;
        params.sqrt_channels = std::sqrt(static_cast<float>(problem.channels));
        params.norm_silu = problem.norm_activation == conv::Activation::Silu ? 1 : 0;
        for (uint32_t i = 0; i < frames; ++i) {
            const std::byte* const qkv = tensors.input[first + i];
            params.query[i] = encode(rows_map(problem, qkv, 3 * part));
            params.key_value[i] = encode(key_value_map(problem, qkv + part));
            params.output[i] =
                encode(rows_map(problem, (problem.adds ? tensors.sum : tensors.output)[first + i], part));
            if (problem.adds) params.normed[i] = encode(rows_map(problem, tensors.output[first + i], part));
        }
        launches.push_back({.grid = {(params.tokens + kQueryTile - 1) / kQueryTile, frames, 1},
                            .threads = cta.threads,
                            .shared_bytes = cta.shared_bytes,
                            .arguments = conv::Arguments::of(params)});
    }
    return launches;
}

conv::OpPlan plan_attention(const AttentionProblem& problem, const conv::Chip& chip, conv::KernelName kernel,
                            const AttentionCta& cta, double clocks) {
    return {
        .kernels = {std::move(kernel)},
        .workspace_bytes = 0,
        .seconds = conv::attention_seconds({.queries = kQueryTile, .keys = kKeyTile, .clocks = clocks}, problem, chip),
        .steps = [problem, cta](const conv::OpTensors& tensors, const conv::EncodeMap& encode) {
            const auto launches = attention_launches(problem, cta, tensors, encode);
            return std::vector<conv::ConvStep>(launches.begin(), launches.end());
        }};
}

std::span<const conv::OpMethod> operators() {
    static const conv::OpMethod kMethods[] = {
        conv::OpMethodOf<AttentionProblem>{"wgmma-sm90", runs_on, attention_gates(), plan},
        conv::OpMethodOf<AttentionProblem>{"products-sm90", runs_on, products_gates(), plan_products, false},
    };
    return kMethods;
}

}  // namespace kinetograph::sm90
