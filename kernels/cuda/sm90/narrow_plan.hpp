#pragma once

#include <kinetograph/kernels/conv/plan.hpp>
#include <kinetograph/kernels/cuda/sm90/frame_runs.hpp>
#include <kinetograph/kernels/cuda/sm90/narrow_config.hpp>
#include <kinetograph/kernels/cuda/sm90/narrow_params.hpp>

namespace kinetograph::sm90 {

/// Tiles' pixels are read from the L2 at this rate on an H200.
inline constexpr double kCacheBytesPerSecond = 8.5e12;

struct NamedNarrowConfig {
    std::string_view kernel;  ///< entry point in the fat binary: "sm90_narrow_bf16_1"
    NarrowConfig config;
};
/// An instance of the problem's element and taps that has room for its columns; null if there is none.
const NamedNarrowConfig* choose_narrow_config(const conv::ConvProblem& problem);

/// Seconds that the problem takes: max(loads from the L2, products) + sums through shared memory, or its memory
/// traffic if that takes longer.
double narrow_seconds(const NarrowConfig& config, const conv::ConvProblem& problem, const conv::Chip& chip);

/// narrow-gemm-sm90: one launch per run of frames (frame_runs.hpp), of FrameWalkKernel if it takes the problem
/// (frame_walk_plan.hpp), otherwise of NarrowConvKernel.
conv::ConvPlan plan_narrow_gemm(const conv::ConvProblem& problem, const conv::Chip& chip);

/// What both kernels read: of the problem, without tiles; of a run, its frames.
NarrowOutput narrow_output(const conv::ConvProblem& problem, const conv::ParameterAddresses& parameters);
void place_outputs(NarrowOutput& to, const conv::ConvProblem& problem, const conv::ConvTensors& tensors,
                   const FrameRun& run);
/// The map of one input frame {c_in, w, h}; box: kNarrowChannels of a tile's pixels.
isa::TensorMapDesc narrow_input_map(const conv::ConvProblem& problem, const std::byte* frame, uint32_t rows,
                                    uint32_t columns);
/// A weight in the problem's element.
uint16_t narrow_bits(Element element, float value);

/// One launch per run of frames. Arguments: NarrowConvParams, whose maps `encode` makes; `sms` CTAs share the tiles.
std::vector<conv::ConvLaunch> narrow_launches(const NarrowConfig& config, const conv::ConvProblem& problem,
                                              const conv::ConvTensors& tensors,
                                              const conv::ParameterAddresses& parameters, uint32_t sms,
                                              const conv::EncodeMap& encode);

/// filter   [k][c_in][q][r][s] fp32, PyTorch's order
/// returns  [q][columns][c_in rounded up to 8] of problem.input.element; column (r * side + s) * k_count + k, the rest
/// zeros
std::vector<std::byte> pack_narrow_filter(const NarrowConfig& config, const conv::ConvProblem& problem,
                                          std::span<const float> filter);

}  // namespace kinetograph::sm90
