#pragma once

#include <kinetograph/kernels/conv/gate.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_config.hpp>

/// The gates of this folder's methods.
namespace kinetograph::sm100 {

std::span<const conv::Gate<conv::Subject>> implicit_gemm_gates();
/// Of the model (winograd_model.hpp).
std::span<const conv::Gate<conv::Subject>> winograd_gates();
std::span<const conv::Gate<conv::Subject>> conv2d_gates();
std::span<const conv::Gate<conv::Subject>> conv3d_gates();
std::span<const conv::Gate<conv::Subject>> q_slice_gates();
std::span<const conv::Gate<conv::Subject>> im2col_gates();

/// Implicit GEMM on single frames (any n and d with one temporal tap), on a dense volume through the rank-5 map, and on
/// frames that lie anywhere.
std::span<const conv::Gate<conv::ConvProblem>> gates(Activation activation);
/// The 3-D convolution as q 2-D ones (qslice_conv3d.hpp).
std::span<const conv::Gate<conv::ConvProblem>> qslice_gates();

}  // namespace kinetograph::sm100
