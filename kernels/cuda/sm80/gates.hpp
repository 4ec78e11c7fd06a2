#pragma once

#include <kinetograph/kernels/conv/gate.hpp>

/// The gates of this folder's methods.
namespace kinetograph::sm80 {

/// "wants a CUDA device since sm_80, met sm_75".
inline constexpr conv::Gate<conv::Subject> kSinceSm80{
    "a CUDA device since sm_80", [](const conv::Subject& s) { return s.chip.cuda_architecture() >= 80; },
    [](const conv::Subject& s) { return conv::met_chip(s, "cuda"); }};

std::span<const conv::Gate<conv::Subject>> implicit_gemm_gates();
std::span<const conv::Gate<conv::Subject>> winograd_gates();
/// Stride, dilation and padding for which a 3-D convolution is a sum of 2-D ones, and channels that fill whole blocks
/// of the kernel's loop.
std::span<const conv::Gate<conv::Subject>> q_slice_gates();
std::span<const conv::Gate<conv::Subject>> im2col_gates();

}  // namespace kinetograph::sm80
