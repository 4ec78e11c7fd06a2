#pragma once

#include <kinetograph/kernels/conv/plan.hpp>
#include <kinetograph/kernels/cuda/sm90/narrow_config.hpp>

namespace kinetograph::sm90 {

struct NamedNarrowConfig {
    std::string_view kernel;  ///< entry point in the fat binary: "sm90_narrow_bf16_3"
    NarrowConfig config;
};
/// An instance of the problem's element and taps that has room for its columns; null if there is none.
const NamedNarrowConfig* choose_narrow_config(const conv::ConvProblem& problem);

/// Seconds that the problem takes: max(loads from the L2, products) + sums through shared memory, or its memory
/// traffic if that takes longer.
double narrow_seconds(const NarrowConfig& config, const conv::ConvProblem& problem, const conv::Chip& chip);

/// narrow-gemm-sm90: NarrowConvKernel, one launch per run of frames (frame_runs.hpp).
conv::ConvPlan plan_narrow_gemm(const conv::ConvProblem& problem, const conv::Chip& chip);

/// One launch per run of frames. Arguments: NarrowConvParams, whose maps `encode` makes; `sms` CTAs share the tiles.
std::vector<conv::ConvLaunch> narrow_launches(const NarrowConfig& config, const conv::ConvProblem& problem,
                                              const conv::ConvTensors& tensors,
                                              const conv::ParameterAddresses& parameters, uint32_t sms,
                                              const conv::EncodeMap& encode);

/// filter   [k][c_in][q][r][s] fp32, PyTorch's order
/// returns  [q][columns][c_in rounded up to 8] of problem.dtype; column (r * side + s) * k_count + k, the rest zeros
std::vector<std::byte> pack_narrow_filter(const NarrowConfig& config, const conv::ConvProblem& problem,
                                          std::span<const float> filter);

}  // namespace kinetograph::sm90
