#pragma once

#include <array>
#include <kinetograph/kernels/conv/problem.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_params.hpp>
#include <vector>

namespace kinetograph::sm90 {

/// Output frames of one launch and the input frames under their taps: as many as its parameters have room for.
struct FrameRun {
    int64_t first_output = 0, count = 0;  ///< index among all samples' frames
    int64_t first_input = 0, inputs = 0;  ///< likewise
    std::array<FrameTaps, kMaxOutputs> taps{};
};

/// All output frames in runs of about equal length, none of which holds frames of two samples.
std::vector<FrameRun> frame_runs(const conv::ConvProblem& problem);

}  // namespace kinetograph::sm90
