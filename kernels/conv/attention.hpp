#pragma once

#include <kinetograph/kernels/conv/operator.hpp>

/// What the chips' attention kernels share.
namespace kinetograph::conv {

using AttentionSubject = SubjectOf<AttentionProblem>;

inline constexpr Gate<AttentionSubject> kBf16OrF16Attention{
    "bf16 or fp16",
    [](const AttentionSubject& s) {
        return s.problem.input.element == Element::BF16 || s.problem.input.element == Element::F16;
    },
    [](const AttentionSubject& s) { return std::string(element_spelling(s.problem.input.element)); }};
inline std::string met_channels(const AttentionSubject& s) { return std::to_string(s.problem.channels); }

/// How a kernel's CTAs share a frame: each takes `queries` and goes over all keys, `keys` at a time.
struct AttentionPace {
    std::uint32_t queries = 0, keys = 0;
    double clocks = 0;           ///< that a CTA takes for one tile of keys
    std::uint32_t resident = 1;  ///< CTAs on a compute unit at a time
    std::uint32_t slices = 1;    ///< that the output channels are split into, one CTA each
};
/// Predicted seconds of one frame: waves of CTAs, each wave as long as one CTA's tiles of keys, plus the launch.
double attention_seconds(const AttentionPace& pace, const AttentionProblem& problem, const Chip& chip);

}  // namespace kinetograph::conv
