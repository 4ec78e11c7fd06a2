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
    if (tiled.cluster > 1) plan.cluster = tiled.cluster, plan.clusters_at_once = tiled.clusters_at_once;
    plan.packing = std::move(tiled.packing);
    const uint64_t frame_bytes = conv::workspace_part(problem.output_frame_bytes());
    // An output that only the norm reads is normed in place, unless the norm is of smaller elements.
    const bool in_workspace = norms_after && problem.norm == conv::Norm::Instead && problem.norms_to_bytes();
    if (in_workspace) plan.workspace_bytes = static_cast<uint64_t>(problem.frames_out()) * frame_bytes;
    plan.steps = [problem, in_tile = tiled.problem, norms_after, in_workspace, frame_bytes,
                  launches = std::move(tiled.launches)](const conv::ConvTensors& tensors,
                                                        const conv::ParameterAddresses& parameters,
                                                        const conv::EncodeMap& encode) {
        conv::ConvTensors convolved = tensors;
        std::vector<std::byte*> between;
        if (norms_after) {
            for (size_t i = 0; in_workspace && i < tensors.normed.size(); ++i)
                between.push_back(tensors.workspace + i * frame_bytes);
            if (problem.norm == conv::Norm::Instead)
                convolved.output = in_workspace ? std::span<std::byte* const>(between) : tensors.normed;
            convolved.normed = {};
        }
        std::vector<conv::ConvStep> steps;
        for (const conv::ConvLaunch& launch : launches(in_tile, convolved, parameters, encode))
            steps.emplace_back(launch);
        if (norms_after) append_norm(steps, 1, problem, parameters, convolved.output, tensors.normed);
        return steps;
    };
    return plan;
}

}  // namespace kinetograph::cuda
