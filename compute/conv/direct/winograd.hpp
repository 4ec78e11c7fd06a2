// Winograd's identity along time on the CPU: two output frames of three temporal taps from four products instead of
// six, by the direct back end's loops.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>

namespace kinetograph::conv::direct {

/// F(2,3): with d0 to d3 the four input frames under a pair of output frames, and g0, g1, g2 the temporal taps,
///
///   first  =  g0 (d0 - d2)  +  (g0+g1+g2)/2 (d1 + d2)  +  (g0-g1+g2)/2 (d2 - d1)
///   second =  g2 (d3 - d1)  +  (g0+g1+g2)/2 (d1 + d2)  -  (g0-g1+g2)/2 (d2 - d1)
///
/// where each product is a 2-D convolution. Filters are folded in float32; sums and differences of frames are made row
/// by row as the tiles reach them. Both are rounded once to what is multiplied: bf16 with AVX512_BF16, or float32. With
/// an odd number of output frames the last one is the sum of three products. For problems that create() takes, with
/// three temporal taps, stride and dilation 1, and more output channels than kMaxNarrow. workspace: for each thread the
/// transformed rows under one row of output, and sums. Source: Lavin and Gray 2015 (arXiv 1509.09308).
Result<std::unique_ptr<Convolution>> create_winograd(accel::Device& device, const ConvProblem& problem,
                                                     Weights& weights);

}  // namespace kinetograph::conv::direct
