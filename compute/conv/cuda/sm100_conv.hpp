// The SM100 implicit GEMM: 2-D convolutions, and causal 3-D ones in one launch.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>

namespace kinetograph::conv::cuda {

/// One temporal tap: a launch for every run of frames that follow one another in memory, as input, output and residual.
/// A norm is a pass behind it.
/// Errors: Unsupported (no code for SM100 in this build, no kernel for the type), those of the device; enqueue(): a
/// frame's address that is not a multiple of 16.
Result<std::unique_ptr<Convolution>> create_conv2d_sm100(accel::Device& device, const ConvProblem& problem,
                                                         const ConvParameters& parameters);

/// Any temporal taps, one launch: through a rank-5 tensor map where the frames follow one another in memory and its
/// corners reach, otherwise through one map a frame, so that a ring of history is read in place. Errors: as above.
Result<std::unique_ptr<Convolution>> create_conv3d_sm100(accel::Device& device, const ConvProblem& problem,
                                                         const ConvParameters& parameters);

}  // namespace kinetograph::conv::cuda
