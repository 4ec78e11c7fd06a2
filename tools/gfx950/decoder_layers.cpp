#include <kinetograph/tools/gfx950/decoder_layers.hpp>

#include <kinetograph/compute/nn/fusion.hpp>

#include <algorithm>

namespace kinetograph::gfx950 {
namespace {

/// As vae::StepGraph asks for the convolution: with what it takes along, of a time shuffle one part.
conv::ConvProblem problem_of(const nn::ConvPass& pass, const nn::Extent& input) {
    conv::ConvProblem problem = nn::conv_problem(pass, input, Element::BF16);
    problem.residual = pass.residual.has_value();
    problem.filter.k /= pass.shuffle;
    if (pass.norm) {
        problem.norm = pass.stored;
        problem.norm_activation = pass.norm->activation;
    }
    return problem;
}

/// Its launches on frames at made-up addresses.
std::vector<conv::ConvStep> steps_of(const conv::ConvPlan& plan, const conv::ConvProblem& problem) {
    static std::byte memory[64];
    const std::vector<const std::byte*> input(static_cast<std::size_t>(problem.frames_in()), memory);
    const std::vector<const std::byte*> residual(static_cast<std::size_t>(problem.frames_out()), memory);
    const std::vector<std::byte*> output(residual.size(), memory);
    conv::ConvTensors tensors{input, output, residual, memory, output};
    if (!problem.residual) tensors.residual = {};
    if (problem.norm == conv::Norm::Instead) tensors.output = {};
    return plan.steps(tensors, {}, {});
}

std::string without(const std::string& name, std::string_view prefix) {
    return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

void describe(DecoderLayer& layer, const conv::ConvPlan& plan) {
    const auto steps = steps_of(plan, layer.problem);
    layer.params = std::get<conv::ConvLaunch>(steps.front()).arguments.as<FourWaveConvParams>();
    layer.seconds = plan.seconds;
    for (const conv::KernelName& name : plan.kernels) {
        layer.kernels += layer.kernels.empty() ? "" : ", then ";
        layer.kernels += without(without(name.kernel, "kg_conv_bf16_"), "kinetograph_");
        if (&name == &plan.kernels.front() && layer.params.splits > 1)
            layer.kernels += " / " + std::to_string(layer.params.splits);
    }
}

}  // namespace

std::vector<DecoderLayer> decoder_layers(const families::Family& family, std::int64_t height, std::int64_t width,
                                         const conv::Chip& chip) {
    const nn::Network network = family.decoder(family.published);
    const std::int64_t space = family.factors.space;
    const auto extents = nn::extents(network, {1, height / space, width / space, network.input_channels()}, false);
    const auto passes = nn::fuse(network, {}).value();
    std::vector<DecoderLayer> layers;
    for (const nn::Pass& pass : passes) {
        const auto* conv = std::get_if<nn::ConvPass>(&pass);
        if (conv == nullptr) continue;
        const conv::ConvProblem problem = problem_of(*conv, extents[conv->input]);
        const auto same = std::ranges::find(layers, problem, &DecoderLayer::problem);
        if (same != layers.end()) {
            same->launches += conv->shuffle;
            continue;
        }
        DecoderLayer& layer = layers.emplace_back();
        layer.key = conv->conv->key;
        layer.problem = problem;
        layer.launches = conv->shuffle;
        describe(layer, plan_four_wave(problem, chip));
    }
    return layers;
}

}  // namespace kinetograph::gfx950
