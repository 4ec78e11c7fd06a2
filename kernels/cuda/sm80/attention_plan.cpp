#include <cmath>
#include <kinetograph/kernels/cuda/sm80/attention.hpp>
#include <kinetograph/kernels/cuda/sm80/attention_widths.hpp>
#include <kinetograph/kernels/cuda/sm80/passes.hpp>
#include <kinetograph/kernels/cuda/sm80/plan.hpp>

namespace kinetograph::sm80 {
namespace {

using conv::AttentionProblem;

/// Clocks of a CTA per channel of one tile of keys: on an H200 a frame of 384 channels took 2.07 ms (14,080 tokens) and
/// 0.82 ms (6,240).
constexpr double kClocksOfAChannel = 21;
constexpr uint32_t kResident = 2;  // CTAs of 96 KiB on an SM

bool runs_on(const conv::Chip& chip) { return chip.cuda_architecture() >= 80; }

std::string reasons(const AttentionProblem& problem) {
    return conv::unmet({conv::bf16_or_f16(problem),
                        {attention_width(problem.channels) != 0, "a head of 8 to 1024 channels, a multiple of 8",
                         std::to_string(problem.channels)}});
}

std::vector<conv::ConvLaunch> launches(const AttentionProblem& problem, const conv::AttentionTensors& tensors) {
    const auto tokens = static_cast<uint32_t>(problem.tokens);
    std::vector<conv::ConvLaunch> made;
    append_pass(made, 0,
                AttentionParams{.frames = {},
                                .tokens = tokens,
                                .channels = static_cast<uint32_t>(problem.channels),
                                .scale = 1 / std::sqrt(static_cast<float>(problem.channels))},
                tensors.qkv, tensors.output,
                [&](uint32_t frames) { return attention_launch(tokens, attention_width(problem.channels), frames); });
    return made;
}

conv::AttentionPlan plan(const AttentionProblem& problem, const conv::Chip& chip) {
    const uint32_t width = attention_width(problem.channels);
    const uint32_t slices = attention_launch(1, width, 1).grid[2], slice = width / slices;
    const std::string element = element_name(problem.dtype);
    return {.kernels = {{"sm80_attention_" + element + '_' + std::to_string(width),
                         problem.dtype == Element::BF16 ? "attention_bf16" : "attention_f16"}},
            .workspace_bytes = 0,
            // Scores over all channels, sums over those of the slice.
            .seconds = conv::attention_seconds({.queries = kQueryTile,
                                                .keys = kKeyTile,
                                                .clocks = kClocksOfAChannel * (width + slice) / 2,
                                                .resident = kResident,
                                                .slices = slices},
                                               problem, chip),
            .launches = [problem](const conv::AttentionTensors& tensors, const conv::EncodeMap&) {
                return launches(problem, tensors);
            }};
}

}  // namespace

std::span<const conv::AttentionMethod> attention_methods() {
    static constexpr conv::AttentionMethod kMethods[] = {{"mma-sm80", runs_on, reasons, plan}};
    return kMethods;
}

}  // namespace kinetograph::sm80
