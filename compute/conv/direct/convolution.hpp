// The direct back end: convolution on the CPU by our own AVX-512 loops, straight from the frames' addresses.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>

namespace kinetograph::conv::direct {

/// Every tap is read in place, so a ring's seam, padding and interleaved outputs cost nothing. Sums in float32; bf16
/// products by VDPBF16PS, those of U8 by VPDPBUSD, in AVX2 or in plain loops, in int32 with the same sums. Needs
/// AVX-512, for bf16 AVX512_BF16, for U8 neither; groups 1; an even c_in for bf16, a multiple of 4 for U8. An input to
/// upsample must satisfy is_sub_pixel() (kernels/conv/sub_pixel.hpp); the filter is then folded in float32 and rounded
/// once when packed. workspace: sums of the rows in progress, only for filters larger than the cache; with
/// Norm::Instead also the rows to norm.
Result<std::unique_ptr<Convolution>> create(accel::Device& device, const ConvProblem& problem, Weights& weights);

}  // namespace kinetograph::conv::direct
