#include <fmt/core.h>
#include <kinetograph/compute/conv/dispatch.hpp>
#include <kinetograph/compute/nn/fusion.hpp>
#include <kinetograph/tools/decoder_step/step_passes.hpp>
#include <kinetograph/tools/kinetograph/decoder_convolutions.hpp>

#include <algorithm>
#include <set>
#include <string_view>

namespace kinetograph::cli {

namespace {

/// How many layers of the step have that shape and epilogue.
std::int64_t count_layers(const std::vector<DeclaredConvolution>& launches, const DeclaredConvolution& of) {
    std::set<std::string_view> keys;
    for (const DeclaredConvolution& one : launches)
        if (one.layer == of.layer && one.epilogue == of.epilogue) keys.insert(one.key);
    return static_cast<std::int64_t>(keys.size());
}

}  // namespace

std::string convolution_name(const conv::ConvProblem& problem) {
    const conv::Filter& filter = problem.filter;
    return fmt::format("{}>{} {}x{}x{}, {}x{}x{}", problem.c_in, filter.k, filter.q, filter.r, filter.s,
                       problem.n * problem.d_out(), problem.h_out(), problem.w_out());
}

std::string epilogue_text(const conv::ConvProblem& problem, std::int64_t frame_step) {
    std::string text;
    const auto add = [&](std::string_view part) { text.append(text.empty() ? "" : ", ").append(part); };
    if (!problem.bias) add("without bias");
    if (problem.activation != conv::Activation::None) add(conv::to_string(problem.activation));
    if (problem.residual) add("residual");
    if (problem.carried) add("carried sums");
    if (problem.norm == conv::Norm::Beside) add("norm beside");
    if (problem.norm == conv::Norm::Instead) add("norm instead");
    if (frame_step > 1) add(fmt::format("one frame of {}", frame_step));
    return text;
}

Result<std::vector<DecoderConvolution>> decoder_convolutions(const vae::NetworkDesc& network, vae::LatentSize size) {
    KG_TRY(const auto passes, nn::fuse(network.network, {.first_step = network.one_step}));
    const auto extents =
        nn::extents(network.network, {1, size.height, size.width, network.network.input_channels()}, network.one_step);
    const auto stored = nn::storages(network.network, network.dtype);
    std::vector<DecoderConvolution> found;
    for (const nn::Pass& pass : passes) {
        const auto* conv = std::get_if<nn::ConvPass>(&pass);
        if (conv == nullptr) continue;
        const conv::ConvProblem problem = nn::conv_problem(*conv, extents[conv->input], stored);
        const auto same = std::ranges::find(found, problem, &DecoderConvolution::problem);
        if (same != found.end())
            ++same->launches;
        else
            found.push_back({convolution_name(problem), problem, 1});
    }
    return found;
}

Result<std::vector<DeclaredConvolution>> declared_launches(const vae::NetworkDesc& network, vae::LatentSize size,
                                                           const accel::DeviceInfo& device) {
    const auto method_of = [&](const conv::ConvProblem& problem) {
        const conv::DispatchRow first = conv::explain(device, problem, network.sums).front();
        return first.open ? first.candidate : "";
    };
    KG_TRY(const auto step, vae::step_passes(network, size, method_of));
    std::vector<DeclaredConvolution> launches;
    for (const vae::StepLaunch& launch : step.launches)
        launches.push_back({.pass = launch.pass,
                            .key = launch.key,
                            .layer = convolution_name(launch.layer),
                            .epilogue = epilogue_text(launch.layer, launch.frame_step),
                            .problem = launch.problem,
                            .frame_step = launch.frame_step,
                            .in_place = launch.layer.residual,
                            .launches = 1,
                            .layers = 1});
    return launches;
}

Result<std::vector<DeclaredConvolution>> declared_convolutions(const vae::NetworkDesc& network, vae::LatentSize size,
                                                               const accel::DeviceInfo& device) {
    KG_TRY(const auto launches, declared_launches(network, size, device));
    std::vector<DeclaredConvolution> found;
    for (const DeclaredConvolution& launch : launches) {
        const auto same = std::ranges::find_if(found, [&](const DeclaredConvolution& one) {
            return one.layer == launch.layer && one.epilogue == launch.epilogue && one.problem == launch.problem;
        });
        if (same != found.end()) {
            ++same->launches;
            continue;
        }
        found.push_back(launch);
        found.back().layers = count_layers(launches, launch);
    }
    return found;
}

}  // namespace kinetograph::cli
