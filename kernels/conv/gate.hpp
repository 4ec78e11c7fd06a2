#pragma once

#include <kinetograph/kernels/conv/chip.hpp>
#include <kinetograph/kernels/conv/problem.hpp>
#include <span>
#include <type_traits>

/// Gates: the conditions under which a method takes a problem, as a list that a person can read and the program prints.
namespace kinetograph::conv {

/// What a method's gates look at: a problem and the chip that would run it.
template <class Problem>
struct SubjectOf {
    const Problem& problem;
    const Chip& chip;
};
using Subject = SubjectOf<ConvProblem>;

/// A condition on a Subject, which is a SubjectOf some problem, or a problem alone.
template <class Subject>
struct Gate {
    std::string_view requirement;  ///< "groups 1": what must hold
    bool (*holds)(const Subject&);
    std::string (*value)(const Subject&);  ///< "4": what was met
};

/// "wants groups 1, met 4; wants bf16, met F32": requirement and value of every gate that does not hold; "" if all do.
template <class Subject>
std::string reasons(std::span<const Gate<Subject>> gates, const std::type_identity_t<Subject>& subject) {
    std::string text;
    for (const Gate<Subject>& gate : gates) {
        if (gate.holds(subject)) continue;
        if (!text.empty()) text += "; ";
        text.append("wants ").append(gate.requirement).append(", met ").append(gate.value(subject));
    }
    return text;
}

/// The spelling of element types in gates' values: "F8_E4M3".
std::string_view element_spelling(Element element);

inline std::string met_dtype(const Subject& s) { return std::string(element_spelling(s.problem.input.element)); }
/// The chip's architecture if it is a device of `kind`, else its kind.
inline std::string met_chip(const Subject& s, std::string_view kind) {
    return s.chip.kind == kind ? s.chip.architecture : s.chip.kind;
}
std::string met(const Dhw& axes);  ///< "1,2,2"

// Gates that several methods share.
inline constexpr Gate<Subject> kNoUpsampling{"an input as it lies in memory",
                                             [](const Subject& s) { return !s.problem.upsample; },
                                             [](const Subject&) { return std::string("one to upsample"); }};
inline constexpr Gate<Subject> kUngrouped{"groups 1", [](const Subject& s) { return s.problem.groups == 1; },
                                          [](const Subject& s) { return std::to_string(s.problem.groups); }};
inline constexpr Gate<Subject> kStride1{"stride 1", [](const Subject& s) { return s.problem.stride.all(1); },
                                        [](const Subject& s) { return met(s.problem.stride); }};
inline constexpr Gate<Subject> kDilation1{"dilation 1", [](const Subject& s) { return s.problem.dilation.all(1); },
                                          [](const Subject& s) { return met(s.problem.dilation); }};
inline constexpr Gate<Subject> kTwoFrames{"two output frames or more",
                                          [](const Subject& s) { return s.problem.d_out() >= 2; },
                                          [](const Subject& s) { return std::to_string(s.problem.d_out()); }};
inline constexpr Gate<Subject> kFilterOfInputsType{
    "a filter of the input's type",
    [](const Subject& s) { return s.problem.weight.element == s.problem.input.element; },
    [](const Subject& s) { return std::string(element_spelling(s.problem.weight.element)); }};
inline constexpr Gate<Subject> kBf16{"bf16", [](const Subject& s) { return s.problem.input.element == Element::BF16; },
                                     met_dtype};
inline constexpr Gate<Subject> kBf16OrF16{"bf16 or fp16",
                                          [](const Subject& s) {
                                              return s.problem.input.element == Element::BF16 ||
                                                     s.problem.input.element == Element::F16;
                                          },
                                          met_dtype};
inline constexpr Gate<Subject> kUnscaled{"sums without scales", [](const Subject& s) { return s.problem.unscaled(); },
                                         [](const Subject& s) {
                                             return s.problem.channel_scales
                                                        ? std::string("a scale for each channel")
                                                        : "alpha " + std::to_string(s.problem.product_scale());
                                         }};

}  // namespace kinetograph::conv
