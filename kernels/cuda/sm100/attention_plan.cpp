#include <kinetograph/kernels/cuda/sm100/attention_plan.hpp>

#include <kinetograph/kernels/cuda/sm100/attention_smem.hpp>
#include <kinetograph/kernels/cuda/sm100/plan.hpp>
#include <kinetograph/kernels/cuda/sm90/attention_widths.hpp>

namespace kinetograph::sm100 {

namespace {

using conv::AttentionProblem;

/// Clocks of a CTA per channel of one tile of keys, from shared-memory traffic (docs/kernels-sm100.md). Not measured.
constexpr double kClocksOfAChannel = 11;

bool runs_on(const conv::Chip& chip) { return chip.cuda_architecture() / 10 == 10; }

/// Kernel sm100_attention_<type>_<width> of fat binary tcgen05_attention_<type>.
conv::OpPlan plan(const AttentionProblem& problem, const conv::Chip& chip) {
    const uint32_t width = sm90::attention_width(problem.channels);
    return sm90::plan_attention(
        problem, chip,
        {std::string("sm100_attention_") + element_name(problem.input.element) + '_' + std::to_string(width),
         problem.input.element == Element::BF16 ? "tcgen05_attention_bf16" : "tcgen05_attention_f16"},
        attention_cta(width), kClocksOfAChannel * width);
}

}  // namespace

sm90::AttentionCta attention_cta(uint32_t channels) {
#define KG_SIZE(width)                              \
    if (sm90::attention_width(channels) == (width)) \
        return {kAttentionThreads, sizeof(AttentionSmem<AttentionConfig{Element::BF16, width}>)};
    KG_SM90_ATTENTION_WIDTHS(KG_SIZE)
#undef KG_SIZE
    return {};
}

std::span<const conv::OpMethod> operators() {
    static const conv::OpMethod kMethods[] = {
        conv::OpMethodOf<AttentionProblem>{"tcgen05-sm100", runs_on, sm90::attention_gates(), plan, false}};
    return kMethods;
}

}  // namespace kinetograph::sm100
