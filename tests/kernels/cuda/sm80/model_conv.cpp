#include "model_conv.hpp"

#include <algorithm>
#include <kinetograph/kernels/cuda/sm80/conv_configs.hpp>

namespace kinetograph::sm80 {

std::string run_kernel(std::string_view kernel, const std::vector<ConvLaunch>& launches, uint64_t seed) {
#define KG_RUN(name, ...) \
    if (kernel == "sm80_conv_" #name) return run_once<name>(launches, seed);
    KG_SM80_CONV_CONFIGS_BF16(KG_RUN)
    KG_SM80_CONV_CONFIGS_F16(KG_RUN)
#undef KG_RUN
    return "there is no kernel " + std::string(kernel);
}

std::string disagreement(const ConvCase& conv, std::string_view kernel, uint64_t schedules) {
    const ConvProblem problem = conv.problem();
    const auto configs = conv_configs();
    const auto named = std::ranges::find(configs, kernel, &NamedConvConfig::kernel);
    if (named == configs.end() && !some_tile_fits(problem)) return "no tile fits";
    const NamedConvConfig& taken = named != configs.end() ? *named : choose_config(problem, chip_of_sms(4, 163 * 1024));
    ConvNumbers numbers(conv);
    const auto launches = numbers.launches(taken.config);
    return numbers.judge_runs(taken.kernel, schedules,
                              [&](uint64_t seed) { return run_kernel(taken.kernel, launches, seed); });
}

}  // namespace kinetograph::sm80
