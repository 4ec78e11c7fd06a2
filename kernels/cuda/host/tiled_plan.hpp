#pragma once

#include <kinetograph/kernels/conv/plan.hpp>
#include <type_traits>

namespace kinetograph::cuda {

/// What plan_tiled() needs of a kernel that computes a problem tile by tile, here or in a newer chip's folder.
struct TiledConv {
    conv::KernelName kernel;
    double seconds = 0;
    conv::ParameterPacking packing;
    conv::ConvProblem problem;  ///< without the norm if no tile holds all filters
    uint32_t cluster = 1;       ///< ConvPlan's, as clusters_at_once
    uint32_t clusters_at_once = 0;
    std::function<std::vector<conv::ConvLaunch>(const conv::ConvProblem&, const conv::ConvTensors&,
                                                const conv::ParameterAddresses&, const conv::EncodeMap&)>
        launches;
};

template <class Tile>
struct TakenTile {
    const Tile* tile;           ///< null if none fits
    conv::ConvProblem problem;  ///< what its kernel computes
};

/// The tile that `choose` returns for the problem, or if that is null, for the problem without its norm.
template <class Choose>
auto take_tile(const conv::ConvProblem& problem, const Choose& choose) {
    const auto* tile = choose(problem);
    TakenTile<std::remove_cvref_t<decltype(*tile)>> taken{tile, problem};
    if (taken.tile == nullptr) {
        taken.problem.norm = conv::Norm::None;
        taken.tile = choose(taken.problem);
    }
    return taken;
}

/// The plan for `problem`: the kernel's launches, then the norm as a pass if `tiled.problem` is without it.
conv::ConvPlan plan_tiled(const conv::ConvProblem& problem, const conv::Chip& chip, TiledConv tiled);

}  // namespace kinetograph::cuda
