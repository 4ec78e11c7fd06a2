#pragma once

#include <kinetograph/kernels/cuda/sm80/winograd_kernel.hpp>
#include <kinetograph/kernels/cuda/sm80/winograd_plan.hpp>

#include "model_conv.hpp"

/// Runs the Winograd convolution on the host model under several schedules and checks each result.
namespace kinetograph::sm80 {

/// A case's launches with one tile of WinogradKernel, and their packed parameters.
class WinogradConv {
  public:
    WinogradConv(ConvNumbers& numbers, const ConvConfig& config);

    size_t launches() const { return launches_.size(); }
    /// The fault that stopped the run, or "".
    template <ConvConfig kConfig, ConvFault kFault = ConvFault::None>
    std::string run(uint64_t seed) const {
        for (const ConvLaunch& launch : launches_) {
            const auto params = launch.arguments.as<WinogradParams>();
            const auto outcome = host_model::run(model_launch(launch, seed),
                                                 [&params] { WinogradKernel<kConfig, kFault>::run(params); });
            if (outcome.fault) return *outcome.fault;
            if (outcome.bank_conflicts != 0) return std::to_string(outcome.bank_conflicts) + " bank conflicts";
        }
        return "";
    }

  private:
    conv::PackedParameters parameters_;
    std::vector<ConvLaunch> launches_;
};

/// Agreement with the fp64 reference under every schedule, or what is wrong. `kernel`: empty for the chosen tile.
std::string winograd_disagreement(ConvCase conv, std::string_view kernel = "", uint64_t schedules = kSchedules);

}  // namespace kinetograph::sm80
