#include <kinetograph/kernels/cuda/sm80/implicit_gemm_plan.hpp>

#include <kinetograph/kernels/cuda/sm80/cost.hpp>
#include <kinetograph/kernels/cuda/sm80/pack.hpp>
#include <kinetograph/kernels/cuda/sm80/passes.hpp>
#include <kinetograph/kernels/cuda/sm80/plan.hpp>
#include <kinetograph/kernels/cuda/sm80/upsample.hpp>

namespace kinetograph::sm80 {

std::string_view image_of(Element element) { return element == Element::BF16 ? "conv_bf16" : "conv_f16"; }

conv::ConvPlan plan_implicit_gemm(const conv::ConvProblem& problem, const conv::Chip& chip) {
    conv::ConvProblem in_tile = problem;
    const bool norms_after = !some_tile_fits(problem);
    if (norms_after) in_tile.norm = conv::Norm::None;
    const NamedConvConfig& tile = choose_config(in_tile, chip);

    conv::ConvPlan plan;
    plan.kernels = {{std::string(tile.kernel), image_of(problem.dtype)}};
    plan.seconds = conv::kLaunchSeconds + conv_seconds(tile.config, in_tile, chip);
    if (norms_after) {
        plan.kernels.push_back(norm_kernel(problem));
        plan.seconds += norm_seconds(problem, chip);
    }
    plan.packing.layout = std::string(upsample_of(problem) == Upsample::SubPixel ? "sub-pixel KQRSC " : "KQRSC ") +
                          element_name(problem.dtype);
    plan.packing.pack = [problem](const conv::ConvParameters& parameters) {
        return conv::packed_with(pack_filter(problem, parameters.filter), parameters);
    };
    plan.steps = [config = tile.config, problem, in_tile, norms_after](const conv::ConvTensors& tensors,
                                                                       const conv::ParameterAddresses& parameters,
                                                                       const conv::EncodeMap&) {
        conv::ConvTensors convolved = tensors;
        if (norms_after) {  // an output that only the norm reads is normalised in place
            if (problem.norm == conv::Norm::Instead) convolved.output = tensors.normed;
            convolved.normed = {};
        }
        std::vector<conv::ConvStep> steps;
        for (conv::ConvLaunch& launch : conv_launches(config, in_tile, convolved, parameters))
            steps.emplace_back(launch);
        if (norms_after) append_norm(steps, 1, problem, parameters.gamma, convolved.output, tensors.normed);
        return steps;
    };
    return plan;
}

}  // namespace kinetograph::sm80
