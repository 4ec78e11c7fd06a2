#pragma once

#include <kinetograph/kernels/conv/plan.hpp>

/// The convolutions of this folder as plans. Pure host code.
namespace kinetograph::sm100 {

/// conv2d-sm100, conv3d-sm100, q-slice-sm100, q-slice-rounded-sm100, im2col-sm100.
std::span<const conv::ConvMethod> methods();

/// One temporal tap: a launch for every run of frames that follow one another in memory, as input, output and residual.
/// This and the others: a norm is a pass after them.
conv::ConvPlan plan_conv2d(const conv::ConvProblem& problem, const conv::Chip& chip);

/// Any temporal taps, one launch: through a rank-5 tensor map where the frames follow one another in memory and its
/// corners reach, otherwise through one map a frame, so that a ring of history is read in place.
conv::ConvPlan plan_conv3d(const conv::ConvProblem& problem, const conv::Chip& chip);

/// A 2-D convolution a temporal tap: fp32 sums straight from and to memory, or bf16 slices that passes add and finish.
/// Frames of a sample that do not follow one another in memory are copied into the workspace and back.
/// Workspace: fp32 sums of all output frames, in the rounded form bf16 slices too, and room for those copies.
conv::ConvPlan plan_q_slice(const conv::ConvProblem& problem, const conv::Chip& chip);
conv::ConvPlan plan_rounded_q_slice(const conv::ConvProblem& problem, const conv::Chip& chip);

/// What the others decline: rows of taps are written out chunk by chunk, at most 64 MiB of them and their sums,
/// multiplied by the 1x1 form of the image kernel into fp32 sums, and brought home by a pass with the epilogue. Groups
/// are multiplied one by one. Frames as in Q-slice. Workspace: a chunk's rows and sums, and room for those copies.
conv::ConvPlan plan_im2col(const conv::ConvProblem& problem, const conv::Chip& chip);

}  // namespace kinetograph::sm100
