// The oneDNN back ends: convolution on the CPU by generated code.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>

namespace kinetograph::conv::onednn {

/// Activations in the problem's dtype, read in place: one primitive per output frame, or several that share a float32
/// sum if a ring's seam is among its taps. workspace: one output frame of float32 if the filter has more than one
/// temporal tap. Errors: Unsupported if the library has no implementation.
Result<std::unique_ptr<Convolution>> create(accel::Device& device, const ConvProblem& problem, Weights& weights);

/// For bf16 where the library has no implementation: widens the frames under an output frame's taps to float32,
/// convolves in float32, rounds once. workspace: the widened frames and one output frame of float32. Errors:
/// Unsupported if the library has no implementation.
Result<std::unique_ptr<Convolution>> create_widened(accel::Device& device, const ConvProblem& problem,
                                                    Weights& weights);

}  // namespace kinetograph::conv::onednn
