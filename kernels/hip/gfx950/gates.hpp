#pragma once

#include <kinetograph/kernels/conv/gate.hpp>
#include <vector>

/// What the methods of this folder accept, with reasons.
namespace kinetograph::gfx950 {

std::span<const conv::Gate> four_wave_gates();
/// The last one never holds: it says what the model predicts, for want of a kernel.
std::span<const conv::Gate> winograd_gates();
std::span<const conv::Gate> im2col_gates();

/// Why one launch of FourWaveConv does not take the problem, one sentence a reason; none: it does.
std::vector<std::string> declined(const conv::ConvProblem& problem);
/// The problem that is left to a method whose norm is a pass of its own.
conv::ConvProblem without_norm(conv::ConvProblem problem);

}  // namespace kinetograph::gfx950
