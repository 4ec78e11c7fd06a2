#pragma once

#include <kinetograph/kernels/conv/plan.hpp>
#include <kinetograph/kernels/cuda/sm100/cost.hpp>
#include <kinetograph/kernels/cuda/sm100/halo_config.hpp>

/// Which of HaloKernel's tiles a convolution takes, how long it will run, and its launches. Pure host code.
namespace kinetograph::sm100 {

struct NamedHaloConfig {
    std::string_view kernel;  ///< entry point in the fat binary: "sm100_halo_bf16_n96_32x8_3_32"
    HaloConfig config;
};

/// All that are compiled.
std::span<const NamedHaloConfig> halo_configs();

/// Whether the tile takes the problem: element, taps, channels of a block of K and form of stores are equal, and it
/// holds all filters if there is a norm. Channels follow from c_in alone, so that every tile adds in the same order.
bool fits(const HaloConfig& config, const conv::ConvProblem& problem);

/// What the problem takes with that tile, without a norm pass after it and without the launch.
Conv2dEstimate estimate(const HaloConfig& config, const conv::ConvProblem& problem, const ChipRates& chip = {});

/// The cheapest tile that fits; null if none does.
const NamedHaloConfig* choose_halo_config(const conv::ConvProblem& problem, const ChipRates& chip = {});

/// Launches of that tile, as many as the frames need, each of `clusters` at most, which are resident at once: they
/// divide the tiles among themselves, so a cluster that had to wait for another's end would double the time.
std::vector<conv::ConvLaunch> halo_launches(const HaloConfig& config, const conv::ConvProblem& problem,
                                            const conv::ConvTensors& tensors,
                                            const conv::ParameterAddresses& parameters, uint32_t clusters,
                                            const conv::EncodeMap& encode);

/// One launch for up to six output frames; a norm over more than 384 filters is a pass that follows.
/// `problem` has passed implicit_gemm_gates().
conv::ConvPlan plan_implicit_gemm(const conv::ConvProblem& problem, const conv::Chip& chip);

/// The tiles that can run it, cheapest first, and the plan with one of them; its norm is a pass if the tile does not
/// hold all filters.
std::vector<std::string_view> halo_kernels(const conv::ConvProblem& problem, const conv::Chip& chip);
conv::ConvPlan plan_implicit_gemm_with(const conv::ConvProblem& problem, const conv::Chip& chip,
                                       std::string_view kernel);

}  // namespace kinetograph::sm100
