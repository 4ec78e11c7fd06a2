#include "winograd_conv.hpp"

#include <algorithm>
#include <kinetograph/kernels/cuda/sm80/winograd_configs.hpp>

namespace kinetograph::sm80 {
namespace {

std::string run_winograd(std::string_view kernel, const WinogradConv& conv, uint64_t seed) {
#define KG_RUN(name, ...) \
    if (kernel == "sm80_winograd_" #name) return conv.run<winograd_##name>(seed);
    KG_SM80_WINOGRAD_CONFIGS_BF16(KG_RUN)
    KG_SM80_WINOGRAD_CONFIGS_F16(KG_RUN)
#undef KG_RUN
    return "there is no kernel " + std::string(kernel);
}

}  // namespace

WinogradConv::WinogradConv(ConvNumbers& numbers, const ConvConfig& config)
    : parameters_(pack_winograd(numbers.conv().problem(), numbers.parameters())) {
    const auto given = [](const std::vector<float>& values) { return values.empty() ? nullptr : values.data(); };
    launches_ = winograd_launches(config, numbers.conv().problem(), numbers.addresses().tensors(),
                                  {.filter = parameters_.filter.data(),
                                   .bias = given(parameters_.bias),
                                   .gamma = given(parameters_.gamma),
                                   .scales = nullptr});
}

std::string winograd_disagreement(ConvCase conv, std::string_view kernel, uint64_t schedules) {
    conv.winograd = Winograd::Time;
    const auto configs = winograd_configs();
    const auto named = std::ranges::find(configs, kernel, &NamedConvConfig::kernel);
    const NamedConvConfig* tile =
        named != configs.end() ? &*named : choose_winograd_config(conv.problem(), chip_of_sms(4, 99 * 1024));
    if (tile == nullptr) return "no tile fits";
    ConvNumbers numbers(conv);
    const WinogradConv model(numbers, tile->config);
    return numbers.judge_runs(tile->kernel, schedules,
                              [&](uint64_t seed) { return run_winograd(tile->kernel, model, seed); });
}

}  // namespace kinetograph::sm80
