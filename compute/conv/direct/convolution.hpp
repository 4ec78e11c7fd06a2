// The direct back end: convolution on the CPU by our own loops in AVX-512 or AVX2, straight from the frames' addresses.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>

namespace kinetograph::conv::direct {

/// Every tap is read in place, so a ring's seam, padding and interleaved outputs cost nothing. Sums in float32; bf16
/// products by VDPBF16PS, without it in float32, to which rows are widened as the tiles reach them; those of U8 by
/// VPDPBUSD, in AVX2 or in plain loops, in int32 with the same sums. Needs AVX2, for U8 nothing; groups 1; for U8 a
/// c_in that is a multiple of 4. An input to upsample must satisfy is_sub_pixel() (kernels/conv/sub_pixel.hpp); the
/// filter is then folded in float32 and, for VDPBF16PS, rounded once when packed. workspace: for each thread the
/// widened rows under its rows of output, sums of those for filters larger than the cache, and with Norm::Instead the
/// rows to norm.
Result<std::unique_ptr<Convolution>> create(accel::Device& device, const ConvProblem& problem, Weights& weights);

}  // namespace kinetograph::conv::direct
