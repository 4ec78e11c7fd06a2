#pragma once

#include <kinetograph/kernels/conv/chips.hpp>
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_launch.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/launch_shape.hpp>

/// The convolutions and the operators of this folder as plans. Pure host code.
namespace kinetograph::gfx950 {

/// four-wave-gfx950, im2col-gfx950.
std::span<const conv::ConvMethod> methods();
/// winograd-time-gfx950 (winograd_model.hpp).
std::span<const conv::ConvModel> models();
/// mfma-gfx950 (attention), and one for each other operator: norm-gfx950 and so on.
std::span<const conv::OpMethod> operators();
std::span<const conv::KnownDevice> devices();

/// Frames are read and written in place, and taps in the padding are null frames. One launch, or with K in parts two,
/// the second adds their sums, which are in the workspace. The norm is the kernel's, where a tile holds all channels
/// and that is estimated to be faster, or a pass that follows; an output that is not requested is then in the
/// workspace.
conv::ConvPlan plan_four_wave(const conv::ConvProblem& problem, const conv::Chip& chip);

/// The same in one launch without a workspace, for a problem without norm.
conv::ConvPlan plan_product(const conv::ConvProblem& problem, const conv::Chip& chip);

/// The matrix [pixels][q * r * s * c_in] is made in parts of at most 64 MiB and multiplied by FourWaveConv's 1x1 form;
/// groups become zeros in a filter over all channels. Workspace: one part.
conv::ConvPlan plan_im2col(const conv::ConvProblem& problem, const conv::Chip& chip);
/// Why no kernel can write that matrix: frames or parts larger than a descriptor spans.
Refusal im2col_refusal(const conv::ConvProblem& problem);
/// The product of a part of that matrix.
conv::ConvProblem im2col_product(const conv::ConvProblem& problem);

}  // namespace kinetograph::gfx950
