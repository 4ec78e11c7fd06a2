#include "halo_conv.hpp"

#include <algorithm>
#include <kinetograph/kernels/cuda/sm90/pack.hpp>

namespace kinetograph::sm100 {

ModelConv halo_model(const ConvNumbers& numbers, const HaloConfig& config, const sm80::TensorAddresses& addresses,
                     uint32_t sms) {
    const ConvProblem problem = numbers.conv().problem();
    return {sm90::pack_parameters(problem, numbers.parameters()),
            [&](const conv::ParameterAddresses& parameters, const conv::EncodeMap& encode) {
                return halo_launches(config, problem, addresses.tensors(), parameters,
                                     std::max(sms / config.cluster, 1U), encode);
            }};
}

std::string halo_disagreement(const ConvCase& conv, std::string_view kernel, uint64_t schedules) {
    const auto configs = halo_configs();
    const auto named = std::ranges::find(configs, kernel, &NamedHaloConfig::kernel);
    const NamedHaloConfig* tile =
        named != configs.end() ? &*named : choose_halo_config(conv.problem(), {.sms = kTestSms});
    if (tile == nullptr) return "no tile fits";
    ConvNumbers numbers(conv);
    const ModelConv model = halo_model(numbers, tile->config, numbers.addresses());
    return numbers.judge_runs(tile->kernel, schedules, [&](uint64_t seed) { return model.run(tile->kernel, seed); });
}

}  // namespace kinetograph::sm100
