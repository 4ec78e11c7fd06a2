#pragma once

#include <kinetograph/kernels/conv/plan.hpp>
#include <kinetograph/kernels/cuda/sm80/cost.hpp>
#include <kinetograph/kernels/cuda/sm80/winograd_params.hpp>

/// winograd-time-sm80 as a plan. Pure host code.
namespace kinetograph::sm80 {

/// All that are compiled; `kernel`: "sm80_winograd_bf16_64x96".
std::span<const NamedConvConfig> winograd_configs();

/// Seconds that the problem takes with that tile, without a norm pass after it. Shared memory at the rate that
/// ConvKernel's 64 x 96 tile reached on an H200, or the chip's matrix units, whichever takes longer.
double winograd_seconds(const ConvConfig& config, const conv::ConvProblem& problem, const conv::Chip& chip);

/// The cheapest tile of the problem's element, for a norm only the narrowest that holds all channels; null if there is
/// none.
const NamedConvConfig* choose_winograd_config(const conv::ConvProblem& problem, const conv::Chip& chip);

/// Filter as winograd_filter, then pack_filter: [k][4][3][3][c_padded].
conv::PackedParameters pack_winograd(const conv::ConvProblem& problem, const conv::ConvParameters& parameters);

/// As conv_launches(), for WinogradKernel. Arguments: WinogradParams.
std::vector<conv::ConvLaunch> winograd_launches(const ConvConfig& config, const conv::ConvProblem& problem,
                                                const conv::ConvTensors& tensors,
                                                const conv::ParameterAddresses& parameters);

/// A norm over more channels than any tile holds is a separate pass that follows.
conv::ConvPlan plan_winograd(const conv::ConvProblem& problem, const conv::Chip& chip);

}  // namespace kinetograph::sm80
