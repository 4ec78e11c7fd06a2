// A convolution followed by a pass of RMS norm over its output, for back ends that do not norm their output.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>

namespace kinetograph::conv {

/// `bare` is the same problem without norm; `norm` has gamma, and folds for a norm stored as U8. workspace: that of
/// `bare`; with Norm::Instead also all output frames.
std::unique_ptr<Convolution> create_norm_after(const ConvProblem& problem, std::unique_ptr<Convolution> bare,
                                               const HostParameters& norm);

}  // namespace kinetograph::conv
