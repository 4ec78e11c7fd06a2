#include <kinetograph/kernels/conv/attention.hpp>

namespace kinetograph::conv {

double attention_seconds(const AttentionPace& pace, const AttentionProblem& problem, const Chip& chip) {
    const auto parts = [](std::uint64_t whole, std::uint64_t part) { return (whole + part - 1) / part; };
    const auto tokens = static_cast<std::uint64_t>(problem.tokens);
    const std::uint64_t waves =
        parts(parts(tokens, pace.queries) * pace.slices, std::uint64_t{chip.compute_units} * pace.resident);
    return kLaunchSeconds +
           static_cast<double>(waves * parts(tokens, pace.keys)) * pace.clocks / chip.clocks_per_second;
}

}  // namespace kinetograph::conv
