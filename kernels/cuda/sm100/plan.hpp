#pragma once

#include <kinetograph/kernels/conv/chips.hpp>

/// The convolutions and the attention of this folder as plans. Pure host code.
namespace kinetograph::sm100 {

/// implicit-gemm-sm100 (halo_plan.hpp), conv2d-sm100, conv3d-sm100, q-slice-sm100, q-slice-rounded-sm100, im2col-sm100.
std::span<const conv::ConvMethod> methods();
/// winograd-time-sm100 (winograd_model.hpp).
std::span<const conv::ConvModel> models();
/// tcgen05-sm100.
std::span<const conv::OpMethod> operators();
std::span<const conv::KnownDevice> devices();

/// One temporal tap: one launch for each run of frames that follow one another in memory, as input, output and
/// residual. This and the other plans here take problems without upsampling and norm: methods() adds the passes that
/// double the frames into the workspace and that norm the output.
conv::ConvPlan plan_conv2d(const conv::ConvProblem& problem, const conv::Chip& chip);

/// Kernels by name: also those that no plan takes by itself, conv2d_silu_staged_*, which round before SiLU too, and
/// conv2d_channel_sums_*, which add what they store to its channels' sums, the first k floats of the workspace; the
/// caller zeroes them. Where several rows of tiles share pixels, "name@N" stands for the name, '@' and a number: the
/// clusters of pixels that are walked with all their filters before the next ones (Conv2dGeometry::panel).
std::vector<std::string_view> conv2d_kernels(const conv::ConvProblem& problem, const conv::Chip& chip);
conv::ConvPlan plan_conv2d_with(const conv::ConvProblem& problem, const conv::Chip& chip, std::string_view kernel);

/// Any temporal taps, one launch: through a rank-5 tensor map if the frames are contiguous in memory and its corners
/// reach all taps, otherwise through one map per frame, so that a history ring is read in place.
conv::ConvPlan plan_conv3d(const conv::ConvProblem& problem, const conv::Chip& chip);

/// Kernels by name, of both forms. One of the rank-5 form runs only if the frames of a call are contiguous.
std::vector<std::string_view> conv3d_kernels(const conv::ConvProblem& problem, const conv::Chip& chip);
conv::ConvPlan plan_conv3d_with(const conv::ConvProblem& problem, const conv::Chip& chip, std::string_view kernel);

/// One 2-D convolution for each temporal tap: fp32 sums from and to memory, or bf16 slices that passes add and finish.
/// Frames of a sample that do not follow one another in memory are copied into the workspace and back. Workspace: fp32
/// sums of all output frames, in the rounded form also bf16 slices, and room for those copies.
conv::ConvPlan plan_q_slice(const conv::ConvProblem& problem, const conv::Chip& chip);
conv::ConvPlan plan_rounded_q_slice(const conv::ConvProblem& problem, const conv::Chip& chip);

/// Kernels by name: those of the first sums, whose shape the later ones take; those of the bf16 slices.
std::vector<std::string_view> q_slice_kernels(const conv::ConvProblem& problem, const conv::Chip& chip);
conv::ConvPlan plan_q_slice_with(const conv::ConvProblem& problem, const conv::Chip& chip, std::string_view kernel);
std::vector<std::string_view> rounded_q_slice_kernels(const conv::ConvProblem& problem, const conv::Chip& chip);
conv::ConvPlan plan_rounded_q_slice_with(const conv::ConvProblem& problem, const conv::Chip& chip,
                                         std::string_view kernel);

/// For what the other methods decline: a pass writes rows of taps, chunk by chunk (at most 64 MiB with their sums), the
/// 1x1 form of the image kernel multiplies them into fp32 sums, and a pass applies the epilogue. Groups are multiplied
/// one by one. Frames as in Q-slice. Workspace: a chunk's rows and sums, and room for those copies.
conv::ConvPlan plan_im2col(const conv::ConvProblem& problem, const conv::Chip& chip);

/// Kernels by name: of the product.
std::vector<std::string_view> im2col_kernels(const conv::ConvProblem& problem, const conv::Chip& chip);
conv::ConvPlan plan_im2col_with(const conv::ConvProblem& problem, const conv::Chip& chip, std::string_view kernel);

}  // namespace kinetograph::sm100
