#pragma once

#include <algorithm>
#include <cstdio>
#include <kinetograph/kernels/conv/gate.hpp>

/// What the methods that use Winograd's F(2,3) along time share between chips; docs/kernels-sm90.md has the algebra.
namespace kinetograph::conv {

inline constexpr Gate kTaps3x3x3{"3x3x3 taps",
                                 [](const Subject& s) {
                                     const Filter& f = s.problem.filter;
                                     return f.q == 3 && f.r == 3 && f.s == 3;
                                 },
                                 [](const Subject& s) {
                                     const Filter& f = s.problem.filter;
                                     return std::to_string(f.q) + 'x' + std::to_string(f.r) + 'x' + std::to_string(f.s);
                                 }};

/// Then every pair of output frames reads at least one input frame.
inline constexpr Gate kPaddedByTwoFrames{
    "at most two frames of padding on either side",
    [](const Subject& s) { return s.problem.pad.front <= 2 && s.problem.pad.back <= 2; },
    [](const Subject& s) { return std::to_string(std::max(s.problem.pad.front, s.problem.pad.back)); }};

/// Pairs among d_out() frames. A last frame without a partner counts 3/4: it takes three of a pair's four products.
inline double frame_pairs(const ConvProblem& p) {
    const int64_t pairs = p.d_out() / 2, alone = p.d_out() % 2;
    return static_cast<double>(pairs) + 0.75 * static_cast<double>(alone);
}

/// A method that has a cost model but no kernel, and the method that it is compared with.
struct ModelledMethod {
    double (*seconds)(const ConvProblem&, const Chip&);
    std::string_view beside;                                    ///< the chip's method for the same problems
    double (*seconds_beside)(const ConvProblem&, const Chip&);  ///< that method's seconds
};

/// What the last gate of such a method met: "a model, 0.633 ms where implicit-gemm-sm100 takes 0.809 ms". `gates` are
/// its other gates; the model covers only problems that pass them.
inline std::string met_model(const ModelledMethod& method, std::span<const Gate> gates, const Subject& s) {
    if (!reasons(gates, s).empty()) return "a model of other problems";
    char text[160];
    std::snprintf(text, sizeof(text), "a model, %.3f ms where %.*s takes %.3f ms",
                  1e3 * method.seconds(s.problem, s.chip), static_cast<int>(method.beside.size()), method.beside.data(),
                  1e3 * method.seconds_beside(s.problem, s.chip));
    return text;
}

}  // namespace kinetograph::conv
