#pragma once

#include <kinetograph/kernels/conv/plan.hpp>
#include <type_traits>

namespace kinetograph::sm80 {

/// A problem as a kernel of tiles takes it, of this folder or of a newer chip's.
struct TiledConv {
    conv::KernelName kernel;
    double seconds = 0;
    conv::ParameterPacking packing;
    conv::ConvProblem problem;  ///< without the norm where no tile holds all filters
    std::function<std::vector<conv::ConvLaunch>(const conv::ConvProblem&, const conv::ConvTensors&,
                                                const conv::ParameterAddresses&, const conv::EncodeMap&)>
        launches;
};

template <class Tile>
struct TakenTile {
    const Tile* tile;           ///< null if none can
    conv::ConvProblem problem;  ///< that it does
};

/// The tile that `choose` returns for the problem, or for the problem without its norm where no tile holds all filters.
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

/// Its plan for `problem`: its launches, and the norm in a pass after them where they are without it.
conv::ConvPlan plan_tiled(const conv::ConvProblem& problem, const conv::Chip& chip, TiledConv tiled);

}  // namespace kinetograph::sm80
