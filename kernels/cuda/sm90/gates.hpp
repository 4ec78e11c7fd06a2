#pragma once

#include <kinetograph/kernels/conv/gate.hpp>

/// What the methods of this folder take, with reasons.
namespace kinetograph::sm90 {

std::span<const conv::Gate> implicit_gemm_gates();
std::span<const conv::Gate> winograd_gates();
std::span<const conv::Gate> narrow_gemm_gates();
std::span<const conv::Gate> q_slice_gates();

}  // namespace kinetograph::sm90
