#pragma once

#include <array>
#include <kinetograph/kernels/conv/problem.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_params.hpp>
#include <vector>

namespace kinetograph::sm90 {

/// Pairs of output frames of one launch and the input frames under their taps: as many as its parameters have room for.
struct PairRun {
    int64_t first_output = 0, outputs = 0;  ///< index among all samples' frames
    int64_t first_input = 0, inputs = 0;    ///< likewise
    uint32_t pairs = 0;
    std::array<FramePair, kMaxPairs> pair{};
};

/// All output frames in runs of about equal length, none of which holds frames of two samples. Only the last pair of a
/// sample may be a frame alone.
std::vector<PairRun> pair_runs(const conv::ConvProblem& problem);

}  // namespace kinetograph::sm90
