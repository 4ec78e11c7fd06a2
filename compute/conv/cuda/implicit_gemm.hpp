// The convolution for every NVIDIA GPU since sm_80: one launch of an implicit GEMM.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_problem.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_tiles.hpp>

#include <optional>
#include <string>

namespace kinetograph::conv::cuda {

/// bf16 or fp16; nothing for other types.
std::optional<Element> element_of(tensor::DType dtype);

/// The problem as the kernel is asked it. A doubled input is taken in its sub-pixel form where that fits, otherwise by
/// the loader. `problem.dtype` is one that element_of() knows, groups is 1.
sm80::ConvShape sm80_shape(const ConvProblem& problem);

/// What the kernel does behind the sum.
sm80::ConvEpilogue epilogue_of(const ConvProblem& problem);
/// What the choice of a tile needs to know of the device.
sm80::ConvChip chip_of(const accel::DeviceInfo& device);
/// The fat binary that holds the convolutions of an element type.
std::string_view binary_of(Element element);

/// Why no launch can hold the problem, whatever its norm, or "". As sm80_shape().
std::string declined_by_sm80(const ConvProblem& problem);

/// Frames are read and written where they lie, taps in the padding are null frames. A norm over more channels than any
/// tile holds is a pass of its own behind the convolution. Packs the filter once; the tile is chosen once for the
/// device, and with_frames() keeps it, so that a frame's values do not depend on how many are made at a time.
/// Errors: Unsupported (the kernel declines, or this build has no fat binaries), those of the device.
Result<std::unique_ptr<Convolution>> create_implicit_gemm(accel::Device& device, const ConvProblem& problem,
                                                          const ConvParameters& parameters);

}  // namespace kinetograph::conv::cuda
