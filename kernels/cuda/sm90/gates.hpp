#pragma once

#include <kinetograph/kernels/conv/gate.hpp>

/// The gates of this folder's methods.
namespace kinetograph::sm90 {

std::span<const conv::Gate<conv::Subject>> implicit_gemm_gates();
std::span<const conv::Gate<conv::Subject>> byte_gates();
std::span<const conv::Gate<conv::Subject>> winograd_gates();
std::span<const conv::Gate<conv::Subject>> volume_gates();
std::span<const conv::Gate<conv::Subject>> narrow_gemm_gates();
std::span<const conv::Gate<conv::Subject>> q_slice_gates();

}  // namespace kinetograph::sm90
