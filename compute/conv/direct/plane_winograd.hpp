// Winograd's identity in the planes of frames on the CPU: 2x2 output pixels of 3x3 taps from 16 products instead of 36,
// by the direct back end's loops.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>

namespace kinetograph::conv::direct {

/// F(2x2,3x3): the identity of winograd.hpp along rows, and of its products along columns. A product is a convolution
/// of 1x1 taps, with as many in time as the problem has. Filters and pixels are transformed in float32 and multiplied
/// so: nothing is rounded to bf16 before the output, and the error is that of other float32 sums. For problems that
/// create() takes with 3x3 taps, stride and dilation 1, no input to upsample, input channels a multiple of 16, and more
/// output channels than kMaxNarrow. workspace: for each thread the transformed pixels and the products of a few tiles,
/// and with Norm::Instead two rows of output. Source: Lavin and Gray 2015 (arXiv 1509.09308).
Result<std::unique_ptr<Convolution>> create_plane_winograd(accel::Device& device, const ConvProblem& problem,
                                                           Weights& weights);

}  // namespace kinetograph::conv::direct
