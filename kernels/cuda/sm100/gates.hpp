#pragma once

#include <kinetograph/kernels/conv/gate.hpp>

/// What the methods of this folder accept, with reasons.
namespace kinetograph::sm100 {

std::span<const conv::Gate> implicit_gemm_gates();
/// The last one never holds: it says what the model predicts, for want of a kernel.
std::span<const conv::Gate> winograd_gates();
std::span<const conv::Gate> conv2d_gates();
std::span<const conv::Gate> conv3d_gates();
std::span<const conv::Gate> q_slice_gates();
std::span<const conv::Gate> im2col_gates();

}  // namespace kinetograph::sm100
