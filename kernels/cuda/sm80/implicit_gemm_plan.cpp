#include <kinetograph/kernels/cuda/sm80/implicit_gemm_plan.hpp>

#include <algorithm>
#include <kinetograph/kernels/cuda/host/pack.hpp>
#include <kinetograph/kernels/cuda/host/tiled_plan.hpp>
#include <kinetograph/kernels/cuda/host/upsample.hpp>
#include <kinetograph/kernels/cuda/sm80/cost.hpp>
#include <kinetograph/kernels/cuda/sm80/plan.hpp>

namespace kinetograph::sm80 {
namespace {

using conv::Chip;
using conv::ConvProblem;

/// The problem as a kernel computes it: without its norm if `fits_with_norm` is false.
ConvProblem in_tile(const ConvProblem& problem, bool fits_with_norm) {
    ConvProblem its = problem;
    if (!fits_with_norm) its.norm = conv::Norm::None;
    return its;
}
ConvProblem in_slab(const ConvProblem& problem) {
    return in_tile(problem, std::ranges::any_of(slab_configs(), [&](const NamedSlabConfig& slab) {
                       return fits(slab.config, problem);
                   }));
}
ConvProblem in_conv_tile(const ConvProblem& problem) { return in_tile(problem, some_tile_fits(problem)); }

/// The plan with a NamedConvConfig or a NamedSlabConfig.
template <class Named>
conv::ConvPlan plan_with(const ConvProblem& problem, const ConvProblem& its, const Chip& chip, const Named& tile,
                         std::string_view image) {
    return cuda::plan_tiled(
        problem, chip,
        {.kernel = {std::string(tile.kernel), image},
         .seconds = conv::kLaunchSeconds + conv_seconds(tile.config, its, chip),
         .packing = {std::string(cuda::upsample_of(problem) == cuda::Upsample::SubPixel ? "sub-pixel KQRSC "
                                                                                        : "KQRSC ") +
                         element_name(problem.input.element),
                     [problem](const conv::ConvParameters& parameters) {
                         return conv::packed_with(cuda::pack_filter(problem, parameters.filter), parameters);
                     }},
         .problem = its,
         .launches = [config = tile.config](const ConvProblem& p, const conv::ConvTensors& tensors,
                                            const conv::ParameterAddresses& parameters, const conv::EncodeMap&) {
             return conv_launches(config, p, tensors, parameters);
         }});
}

conv::ConvPlan plan_slab(const ConvProblem& problem, const Chip& chip, const NamedSlabConfig& slab) {
    return plan_with(problem, in_slab(problem), chip, slab,
                     problem.input.element == Element::BF16 ? "slab_bf16" : "slab_f16");
}
conv::ConvPlan plan_tile(const ConvProblem& problem, const Chip& chip, const NamedConvConfig& tile) {
    return plan_with(problem, in_conv_tile(problem), chip, tile, image_of(problem.input.element));
}

}  // namespace

std::string_view image_of(Element element) { return element == Element::BF16 ? "conv_bf16" : "conv_f16"; }

conv::ConvPlan plan_implicit_gemm(const ConvProblem& problem, const Chip& chip) {
    if (const NamedSlabConfig* slab = choose_slab(in_slab(problem), chip)) return plan_slab(problem, chip, *slab);
    return plan_tile(problem, chip, choose_config(in_conv_tile(problem), chip));
}

std::vector<std::string_view> implicit_gemm_kernels(const ConvProblem& problem, const Chip& chip) {
    std::vector<std::pair<double, std::string_view>> found;
    for (const NamedSlabConfig& slab : slab_configs())
        if (const ConvProblem its = in_slab(problem); fits(slab.config, its))
            found.emplace_back(conv_seconds(slab.config, its, chip), slab.kernel);
    for (const NamedConvConfig& tile : conv_configs())
        if (const ConvProblem its = in_conv_tile(problem); fits(tile.config, its))
            found.emplace_back(conv_seconds(tile.config, its, chip), tile.kernel);
    std::ranges::stable_sort(found, {}, &std::pair<double, std::string_view>::first);
    std::vector<std::string_view> names;
    for (const auto& [seconds, name] : found) names.push_back(name);
    return names;
}

conv::ConvPlan plan_implicit_gemm_with(const ConvProblem& problem, const Chip& chip, std::string_view kernel) {
    const auto slab = std::ranges::find(slab_configs(), kernel, &NamedSlabConfig::kernel);
    if (slab != slab_configs().end()) return plan_slab(problem, chip, *slab);
    return plan_tile(problem, chip, *std::ranges::find(conv_configs(), kernel, &NamedConvConfig::kernel));
}

}  // namespace kinetograph::sm80
