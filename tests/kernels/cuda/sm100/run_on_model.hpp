#pragma once

#include <kinetograph/kernels/cuda/sm100/conv2d_fprop.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_launch.hpp>
#include <kinetograph/kernels/host_model/launch.hpp>

namespace kinetograph::sm100 {

inline host_model::Launch model_launch(const Conv2dLaunch& launch, uint64_t seed) {
    return {.grid = {launch.grid[0], launch.grid[1], launch.grid[2]},
            .cluster = {launch.cluster[0], launch.cluster[1], launch.cluster[2]},
            .threads = launch.threads,
            .shared_bytes = launch.shared_bytes,
            .seed = seed};
}

/// Launches once; returns the fault that stopped the run, or "".
template <Conv2dConfig kConfig, Fault kFault = Fault::None, class Epilogue = NoEpilogue>
std::string run_once(const Conv2dLaunch& launch, const Conv2dEpilogueArguments<Epilogue>& after, uint64_t seed) {
    if (launch.empty()) return "";
    const auto params = make_params<kConfig, Epilogue>(launch, after, host_model::model_map);
    return host_model::run(model_launch(launch, seed),
                           [&params] { Conv2dFpropKernel<kConfig, Epilogue, kFault>::run(params); })
        .fault.value_or("");
}

}  // namespace kinetograph::sm100
