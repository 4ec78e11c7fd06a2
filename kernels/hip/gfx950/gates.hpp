#pragma once

#include <kinetograph/kernels/conv/gate.hpp>

/// What the methods of this folder accept, with reasons.
namespace kinetograph::gfx950 {

std::span<const conv::Gate> four_wave_gates();
/// The last one never holds: it says what the model predicts, for want of a kernel.
std::span<const conv::Gate> winograd_gates();
std::span<const conv::Gate> im2col_gates();

}  // namespace kinetograph::gfx950
