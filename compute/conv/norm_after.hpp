// A convolution followed by a pass of RMS norm over its output, for back ends that do not norm their output.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>

namespace kinetograph::conv {

/// `bare` is the same problem without norm. workspace: that of `bare`; with Norm::Instead also all output frames.
std::unique_ptr<Convolution> create_norm_after(const ConvProblem& problem, std::unique_ptr<Convolution> bare,
                                               std::span<const float> gamma);

}  // namespace kinetograph::conv
