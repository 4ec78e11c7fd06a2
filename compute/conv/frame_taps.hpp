// The input frames that an output frame sums over, in runs that follow one another in memory.
#pragma once

#include <kinetograph/kernels/conv/problem.hpp>

#include <span>
#include <vector>

namespace kinetograph::conv {

/// Taps [first, first + count) of the temporal filter axis: first_frame is the input frame (in time, 0 to d - 1) under
/// the first of them; the others are `dilation.d` frames apart.
struct TapRun {
    std::int64_t first = 0, count = 0;
    std::int64_t first_frame = 0;
    friend bool operator==(const TapRun&, const TapRun&) = default;
};

/// The taps of output frame `t_out` that meet an input frame, cut wherever frames that follow each other in time do not
/// do so in memory (a ring's seam). `frames` are the d addresses of one sample. Taps in the padding are in no run. For
/// a ring of four frames whose newest one has just overwritten the oldest:
///
///   memory   4 1 2 3        taps on frames 2 3 4: runs {2, 3} and {4}
std::vector<TapRun> tap_runs(const ConvProblem& problem, std::span<const std::byte* const> frames, std::int64_t t_out);

}  // namespace kinetograph::conv
