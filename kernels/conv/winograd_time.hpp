#pragma once

#include <algorithm>
#include <kinetograph/kernels/conv/gate.hpp>

/// What the methods that use Winograd's F(2,3) along time share between chips; docs/kernels-sm90.md has the algebra.
namespace kinetograph::conv {

inline constexpr Gate<Subject> kTaps3x3x3{"3x3x3 taps",
                                          [](const Subject& s) {
                                              const Filter& f = s.problem.filter;
                                              return f.q == 3 && f.r == 3 && f.s == 3;
                                          },
                                          [](const Subject& s) {
                                              const Filter& f = s.problem.filter;
                                              return std::to_string(f.q) + 'x' + std::to_string(f.r) + 'x' +
                                                     std::to_string(f.s);
                                          }};

/// Then every pair of output frames reads at least one input frame.
inline constexpr Gate<Subject> kPaddedByTwoFrames{
    "at most two frames of padding on either side",
    [](const Subject& s) { return s.problem.pad.front <= 2 && s.problem.pad.back <= 2; },
    [](const Subject& s) { return std::to_string(std::max(s.problem.pad.front, s.problem.pad.back)); }};

/// Pairs among d_out() frames. A last frame without a partner counts 3/4: it takes three of a pair's four products.
inline double frame_pairs(const ConvProblem& p) {
    const int64_t pairs = p.d_out() / 2, alone = p.d_out() % 2;
    return static_cast<double>(pairs) + 0.75 * static_cast<double>(alone);
}

}  // namespace kinetograph::conv
