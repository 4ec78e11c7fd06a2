#pragma once

#include <kinetograph/kernels/conv/gate.hpp>

/// What the methods of this folder accept, with reasons.
namespace kinetograph::gfx950 {

std::span<const conv::Gate<conv::Subject>> four_wave_gates();
/// Of the model (winograd_model.hpp).
std::span<const conv::Gate<conv::Subject>> winograd_gates();
std::span<const conv::Gate<conv::Subject>> im2col_gates();

/// Why one launch of FourWaveConv does not take the problem with its norm; "" if it does.
std::string launch_reasons(const conv::ConvProblem& problem);
/// The problem that is left to a method whose norm is a pass of its own.
conv::ConvProblem without_norm(conv::ConvProblem problem);

}  // namespace kinetograph::gfx950
