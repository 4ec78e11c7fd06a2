#include <kinetograph/tests/compute/vae/step_convolutions.hpp>

#include <kinetograph/compute/nn/fusion.hpp>

#include <algorithm>

namespace kinetograph::vae {

std::vector<StepConvolution> step_convolutions(const nn::Network& network, LatentSize size, tensor::DType dtype) {
    const auto extents = nn::extents(network, {1, size.height, size.width, network.input_channels()}, false);
    const auto passes = nn::fuse(network, {}).value();
    std::vector<StepConvolution> found;
    for (const nn::Pass& pass : passes) {
        const auto* conv = std::get_if<nn::ConvPass>(&pass);
        if (conv == nullptr) continue;
        conv::ConvProblem problem = nn::conv_problem(*conv, extents[conv->input], dtype);
        problem.residual = conv->residual.has_value();
        problem.norm = conv->stored;
        if (conv->norm) problem.norm_activation = conv->norm->activation;
        problem.filter.k /= conv->shuffle;
        const auto same = std::ranges::find(found, problem, &StepConvolution::problem);
        if (same != found.end())
            same->launches += conv->shuffle;
        else
            found.push_back({conv->conv->key, problem, conv->shuffle});
    }
    return found;
}

}  // namespace kinetograph::vae
