#include <kinetograph/kernels/conv/attention.hpp>

namespace kinetograph::conv {

std::string unmet(std::initializer_list<Condition> conditions) {
    std::string text;
    for (const Condition& condition : conditions) {
        if (condition.holds) continue;
        if (!text.empty()) text += "; ";
        text.append("wants ").append(condition.wanted).append(", met ").append(condition.met);
    }
    return text;
}

Condition bf16_or_f16(const AttentionProblem& problem) {
    return {problem.dtype == Element::BF16 || problem.dtype == Element::F16, "bf16 or fp16",
            std::string(element_spelling(problem.dtype))};
}

double attention_seconds(const AttentionPace& pace, const AttentionProblem& problem, const Chip& chip) {
    const auto parts = [](std::uint64_t whole, std::uint64_t part) { return (whole + part - 1) / part; };
    const auto tokens = static_cast<std::uint64_t>(problem.tokens);
    const std::uint64_t waves =
        parts(parts(tokens, pace.queries) * pace.slices, std::uint64_t{chip.compute_units} * pace.resident);
    return kLaunchSeconds +
           static_cast<double>(waves * parts(tokens, pace.keys)) * pace.clocks / chip.clocks_per_second;
}

}  // namespace kinetograph::conv
