// Which input frames an output frame sums over, and how they fall into runs that lie one after another in memory.
#pragma once

#include <kinetograph/kernels/conv/problem.hpp>

#include <span>
#include <vector>

namespace kinetograph::conv {

/// Taps [first, first + count) of the temporal filter axis: first_frame is the input frame (in time, 0 to d - 1) under
/// the first of them, the others follow `dilation.d` frames apart.
struct TapRun {
    std::int64_t first = 0, count = 0;
    std::int64_t first_frame = 0;
    friend bool operator==(const TapRun&, const TapRun&) = default;
};

/// The taps of output frame `t_out` that meet an input frame, cut wherever frames that follow each other in time do not
/// follow each other in memory (a ring's seam). `frames` are the d addresses of one sample. Taps in the padding are in
/// no run.
std::vector<TapRun> tap_runs(const ConvProblem& problem, std::span<const std::byte* const> frames, std::int64_t t_out);

}  // namespace kinetograph::conv
