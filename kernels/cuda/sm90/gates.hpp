#pragma once

#include <kinetograph/kernels/conv/gate.hpp>

/// The gates of this folder's methods.
namespace kinetograph::sm90 {

std::span<const conv::Gate> implicit_gemm_gates();
std::span<const conv::Gate> winograd_gates();
std::span<const conv::Gate> volume_gates();
std::span<const conv::Gate> narrow_gemm_gates();
std::span<const conv::Gate> q_slice_gates();

}  // namespace kinetograph::sm90
