#include <kinetograph/kernels/cuda/host/passes.hpp>
#include <kinetograph/kernels/cuda/host/tiled_plan.hpp>

namespace kinetograph::cuda {

conv::ConvPlan plan_tiled(const conv::ConvProblem& problem, const conv::Chip& chip, TiledConv tiled) {
    const bool norms_after = tiled.problem.norm != problem.norm;
    conv::ConvPlan plan;
    plan.kernels = {tiled.kernel};
    plan.seconds = tiled.seconds;
    if (norms_after) {
        plan.kernels.push_back(norm_kernel(problem));
        plan.seconds += norm_seconds(problem, chip);
    }
    plan.packing = std::move(tiled.packing);
    plan.steps = [problem, in_tile = tiled.problem, norms_after, launches = std::move(tiled.launches)](
                     const conv::ConvTensors& tensors, const conv::ParameterAddresses& parameters,
                     const conv::EncodeMap& encode) {
        conv::ConvTensors convolved = tensors;
        if (norms_after) {  // an output that only the norm reads is normed in place
            if (problem.norm == conv::Norm::Instead) convolved.output = tensors.normed;
            convolved.normed = {};
        }
        std::vector<conv::ConvStep> steps;
        for (const conv::ConvLaunch& launch : launches(in_tile, convolved, parameters, encode))
            steps.emplace_back(launch);
        if (norms_after) append_norm(steps, 1, problem, parameters.gamma, convolved.output, tensors.normed);
        return steps;
    };
    return plan;
}

}  // namespace kinetograph::cuda
