// im2col and a matrix product on any NVIDIA GPU since sm_80: what no other back end takes.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>

namespace kinetograph::conv::cuda {

/// The matrix [pixels][q * r * s * c_in] is made in parts of at most 64 MiB and multiplied by the implicit GEMM's 1x1
/// form; groups become zeros of a filter over all channels. workspace: one part. bf16 and fp16.
/// Errors: Unsupported (no fat binaries in this build), those of the device.
Result<std::unique_ptr<Convolution>> create_im2col(accel::Device& device, const ConvProblem& problem,
                                                   const ConvParameters& parameters);

}  // namespace kinetograph::conv::cuda
