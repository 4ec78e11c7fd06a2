#pragma once

#include <kinetograph/kernels/conv/plan.hpp>
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_launch.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/launch_shape.hpp>

/// The convolutions of this folder as plans. Pure host code.
namespace kinetograph::gfx950 {

/// four-wave-gfx950, im2col-gfx950.
std::span<const conv::ConvMethod> methods();

/// The problem in FourWaveConv's terms; a norm that no tile holds is left to a separate pass.
FourWaveConvProblem four_wave_problem(const conv::ConvProblem& problem);

/// One launch; frames are read and written in place, and taps in the padding are null frames. A norm of more channels
/// than a tile holds is a pass that follows; an output that is not requested is then in the workspace.
conv::ConvPlan plan_four_wave(const conv::ConvProblem& problem, const conv::Chip& chip);

/// The matrix [pixels][q * r * s * c_in] is made in parts of at most 64 MiB and multiplied by FourWaveConv's 1x1 form;
/// groups become zeros in a filter over all channels. Workspace: one part.
conv::ConvPlan plan_im2col(const conv::ConvProblem& problem, const conv::Chip& chip);
/// Why no kernel can write that matrix: frames or parts larger than a descriptor spans.
Refusal im2col_refusal(const conv::ConvProblem& problem);

}  // namespace kinetograph::gfx950
