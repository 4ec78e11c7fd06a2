// A 3-D convolution as q 2-D ones on the SM100 kernels.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>

namespace kinetograph::conv::cuda {

/// As create_q_slice() and create_rounded_q_slice() (q_slice.hpp), on tensor memory: fp32 sums straight from and to
/// memory, or bf16 slices that passes add and finish. Frames of a sample that do not follow one another in memory are
/// copied into the workspace and back.
/// workspace: fp32 sums of all output frames, in the rounded form bf16 slices too, and room for those copies.
/// Errors: Unsupported (no code for SM100 in this build), those of the device.
Result<std::unique_ptr<Convolution>> create_q_slice_sm100(accel::Device& device, const ConvProblem& problem,
                                                          const ConvParameters& parameters);
Result<std::unique_ptr<Convolution>> create_rounded_q_slice_sm100(accel::Device& device, const ConvProblem& problem,
                                                                  const ConvParameters& parameters);

}  // namespace kinetograph::conv::cuda
