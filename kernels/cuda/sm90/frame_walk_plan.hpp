#pragma once

#include <kinetograph/kernels/conv/plan.hpp>

namespace kinetograph::sm90 {

/// Whether the problem's taps and channels are FrameWalkKernel's: 3x3 in a frame, up to 3 in time; up to 4 output
/// channels, up to 256 input channels.
bool walks_frames(const conv::ConvProblem& problem);

/// Entry point in the fat binary: "sm90_frame_walk_bf16".
std::string_view frame_walk_kernel(Element element);

/// Seconds that the problem takes: the longest of loads from the L2, products and outputs, and memory traffic.
double frame_walk_seconds(const conv::ConvProblem& problem, const conv::Chip& chip);

/// filter   [k][c_in][q][r][s] fp32, PyTorch's order
/// returns  [r][48 columns][c_in rounded up to 8] of problem.input.element; columns: 16 of the last temporal tap, of
/// the one
///          before and of the first (walk_column), zeros where there is none
std::vector<std::byte> pack_frame_walk_filter(const conv::ConvProblem& problem, std::span<const float> filter);

/// One launch per run of frames (frame_runs.hpp). Arguments: FrameWalkParams, whose maps `encode` makes; `sms` CTAs
/// share the tiles.
std::vector<conv::ConvLaunch> frame_walk_launches(const conv::ConvProblem& problem, const conv::ConvTensors& tensors,
                                                  const conv::ParameterAddresses& parameters, uint32_t sms,
                                                  const conv::EncodeMap& encode);

}  // namespace kinetograph::sm90
