#pragma once

#include <kinetograph/kernels/conv/plan.hpp>

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

/// Its plan for `problem`: its launches, and the norm in a pass after them where they are without it.
conv::ConvPlan plan_tiled(const conv::ConvProblem& problem, const conv::Chip& chip, TiledConv tiled);

}  // namespace kinetograph::sm80
