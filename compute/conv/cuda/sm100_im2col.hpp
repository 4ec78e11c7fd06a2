// im2col and a matrix product on the SM100 kernels: what their gates decline.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>

namespace kinetograph::conv::cuda {

/// Rows of taps are written out chunk by chunk, at most 64 MiB of them and their sums, multiplied by the 1x1 form of
/// the image kernel into fp32 sums, and brought home by a pass with the epilogue. Groups are multiplied one by one.
/// Frames that do not follow one another in memory are copied into the workspace and back. bf16. workspace: a chunk's
/// rows and sums, and room for those copies. Errors: Unsupported (no code for SM100 in this build), those of the
/// device.
Result<std::unique_ptr<Convolution>> create_im2col_sm100(accel::Device& device, const ConvProblem& problem,
                                                         const ConvParameters& parameters);

}  // namespace kinetograph::conv::cuda
