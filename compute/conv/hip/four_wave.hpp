// Convolution back ends for gfx950: FourWaveConv, and im2col with its 1x1 form for what that declines.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_launch.hpp>

#include <optional>
#include <string>

namespace kinetograph::conv::hip {

/// bf16, fp16 or fp8 (e4m3); nothing for other types.
std::optional<Element> element_of(tensor::DType dtype);

/// The problem as the kernel is asked it: a norm of more channels than a tile holds is left to a pass of its own.
/// `problem.dtype` is one that element_of() knows.
gfx950::FourWaveConvProblem four_wave_problem(const ConvProblem& problem);

/// One launch; frames are read and written where they lie, taps in the padding are null frames. Packs the filter once.
/// Errors: Unsupported (the kernel declines, or this build has no code object), those of the device.
Result<std::unique_ptr<Convolution>> create_four_wave(accel::Device& device, const ConvProblem& problem,
                                                      const ConvParameters& parameters);

}  // namespace kinetograph::conv::hip
