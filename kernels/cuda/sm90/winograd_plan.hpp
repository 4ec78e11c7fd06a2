#pragma once

#include <kinetograph/kernels/conv/plan.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_config.hpp>

/// winograd-time-sm90 as a plan. Pure host code.
namespace kinetograph::sm90 {

struct NamedWinogradConfig {
    std::string_view kernel;  ///< entry point in the fat binary: "sm90_winograd_bf16_n96_16x8"
    WinogradConfig config;
};
/// All that are compiled.
std::span<const NamedWinogradConfig> winograd_configs();

/// Whether the tile takes the problem: of its element, and with room for all filters if there is a norm.
bool fits(const WinogradConfig& config, const conv::ConvProblem& problem);

/// Seconds that the problem takes with that tile, without a norm pass after it; fitted like conv_seconds().
double winograd_seconds(const WinogradConfig& config, const conv::ConvProblem& problem, const conv::Chip& chip);

/// The cheapest tile that fits; null if none does.
const NamedWinogradConfig* choose_winograd_config(const conv::ConvProblem& problem, const conv::Chip& chip);

/// Filter [k][c_in][3][3][3] as [tile of filters][block of 32 channels][4][3][3][filter of the tile][32], zeros beyond
/// k and c_in, each [filter][32] as the 64-byte swizzle stores it. The four taps in time are (g0 + g1 + g2) / 2,
/// (g0 - g1 + g2) / 2, g0 and g2, folded in fp32 and rounded once. Bias, gamma as pack_parameters.
conv::PackedParameters pack_winograd(const WinogradConfig& config, const conv::ConvProblem& problem,
                                     const conv::ConvParameters& parameters);

/// As conv_launches(), for WinogradKernel, each of `resident` clusters at most. Arguments: WinogradParams.
std::vector<conv::ConvLaunch> winograd_launches(const WinogradConfig& config, const conv::ConvProblem& problem,
                                                const conv::ConvTensors& tensors,
                                                const conv::ParameterAddresses& parameters, uint32_t resident,
                                                const conv::EncodeMap& encode);

conv::ConvPlan plan_winograd(const conv::ConvProblem& problem, const conv::Chip& chip);
/// The same with the given tile, which fits the problem or the problem without its norm.
conv::ConvPlan plan_winograd_in(const NamedWinogradConfig& tile, const conv::ConvProblem& problem,
                                const conv::Chip& chip);

}  // namespace kinetograph::sm90
