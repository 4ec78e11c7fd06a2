#include <kinetograph/kernels/cuda/sm80/implicit_gemm_plan.hpp>

#include <kinetograph/kernels/cuda/host/pack.hpp>
#include <kinetograph/kernels/cuda/host/tiled_plan.hpp>
#include <kinetograph/kernels/cuda/host/upsample.hpp>
#include <kinetograph/kernels/cuda/sm80/cost.hpp>
#include <kinetograph/kernels/cuda/sm80/plan.hpp>

namespace kinetograph::sm80 {

std::string_view image_of(Element element) { return element == Element::BF16 ? "conv_bf16" : "conv_f16"; }

conv::ConvPlan plan_implicit_gemm(const conv::ConvProblem& problem, const conv::Chip& chip) {
    conv::ConvProblem in_tile = problem;
    if (!some_tile_fits(problem)) in_tile.norm = conv::Norm::None;
    const NamedConvConfig& tile = choose_config(in_tile, chip);

    return cuda::plan_tiled(
        problem, chip,
        {.kernel = {std::string(tile.kernel), image_of(problem.input.element)},
         .seconds = conv::kLaunchSeconds + conv_seconds(tile.config, in_tile, chip),
         .packing = {std::string(cuda::upsample_of(problem) == cuda::Upsample::SubPixel ? "sub-pixel KQRSC "
                                                                                        : "KQRSC ") +
                         element_name(problem.input.element),
                     [problem](const conv::ConvParameters& parameters) {
                         return conv::packed_with(cuda::pack_filter(problem, parameters.filter), parameters);
                     }},
         .problem = in_tile,
         .launches = [config = tile.config](const conv::ConvProblem& p, const conv::ConvTensors& tensors,
                                            const conv::ParameterAddresses& parameters, const conv::EncodeMap&) {
             return conv_launches(config, p, tensors, parameters);
         }});
}

}  // namespace kinetograph::sm80
