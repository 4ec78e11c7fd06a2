#include <cmath>
#include <kinetograph/kernels/conv/attention.hpp>
#include <kinetograph/kernels/cuda/host/passes.hpp>
#include <kinetograph/kernels/cuda/sm80/attention.hpp>
#include <kinetograph/kernels/cuda/sm80/attention_widths.hpp>
#include <kinetograph/kernels/cuda/sm80/operators.hpp>

namespace kinetograph::sm80 {
namespace {

using conv::AttentionProblem;

/// Clocks of a CTA per channel of one tile of keys: on an H200 a frame of 384 channels took 2.07 ms (14,080 tokens) and
/// 0.82 ms (6,240).
constexpr double kClocksOfAChannel = 21;
constexpr uint32_t kResident = 2;  // CTAs of 96 KiB on an SM

constexpr conv::Gate<conv::AttentionSubject> kGates[] = {
    conv::kBf16OrF16Attention,
    {"a head of 8 to 1024 channels, a multiple of 8",
     [](const conv::AttentionSubject& s) { return attention_width(s.problem.channels) != 0; }, conv::met_channels},
};

std::vector<conv::ConvStep> steps(const AttentionProblem& problem, const conv::OpTensors& tensors) {
    const auto tokens = static_cast<uint32_t>(problem.tokens);
    std::vector<conv::ConvStep> made;
    cuda::append_pass(made, 0,
                      AttentionParams{.frames = {},
                                      .tokens = tokens,
                                      .channels = static_cast<uint32_t>(problem.channels),
                                      .scale = 1 / std::sqrt(static_cast<float>(problem.channels))},
                      tensors.input, tensors.output, [&](uint32_t frames) {
                          return attention_launch(tokens, attention_width(problem.channels), frames);
                      });
    return made;
}

conv::OpPlan plan(const AttentionProblem& problem, const conv::Chip& chip) {
    const uint32_t width = attention_width(problem.channels);
    const uint32_t slice = width / attention_launch(1, width, 1).grid[2];
    const uint32_t taken = conv::round_up(conv::u32(problem.channels), slice);  // the CTAs of slices beyond end at once
    const std::string element = element_name(problem.input.element);
    return {
        .kernels = {{"sm80_attention_" + element + '_' + std::to_string(width),
                     problem.input.element == Element::BF16 ? "attention_bf16" : "attention_f16"}},
        .workspace_bytes = 0,
        // Scores over all channels, sums over those of the slice.
        .seconds = conv::attention_seconds({.queries = kQueryTile,
                                            .keys = kKeyTile,
                                            .clocks = kClocksOfAChannel * (taken + slice) / 2,
                                            .resident = kResident,
                                            .slices = taken / slice},
                                           problem, chip),
        .steps = [problem](const conv::OpTensors& tensors, const conv::EncodeMap&) { return steps(problem, tensors); }};
}

}  // namespace

conv::OpMethodOf<AttentionProblem> attention_method() { return {"mma-sm80", runs_since_sm80, kGates, plan, false}; }

}  // namespace kinetograph::sm80
