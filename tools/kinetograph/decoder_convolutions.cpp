#include <fmt/core.h>
#include <kinetograph/tools/kinetograph/decoder_convolutions.hpp>

#include <algorithm>

namespace kinetograph::cli {

std::string convolution_name(const conv::ConvProblem& problem) {
    const conv::Filter& filter = problem.filter;
    return fmt::format("{}>{} {}x{}x{}, {}x{}x{}", problem.c_in, filter.k, filter.q, filter.r, filter.s,
                       problem.n * problem.d_out(), problem.h_out(), problem.w_out());
}

Result<std::vector<DecoderConvolution>> decoder_convolutions(const nn::Network& network, bool first_step,
                                                             vae::LatentSize size, tensor::DType dtype) {
    KG_TRY(const auto passes, nn::fuse(network, {.first_step = first_step}));
    const auto extents = nn::extents(network, {1, size.height, size.width, network.input_channels()}, first_step);
    std::vector<DecoderConvolution> found;
    for (const nn::Pass& pass : passes) {
        const auto* conv = std::get_if<nn::ConvPass>(&pass);
        if (conv == nullptr) continue;
        const conv::ConvProblem problem = nn::conv_problem(*conv, extents[conv->input], dtype);
        const auto same = std::ranges::find(found, problem, &DecoderConvolution::problem);
        if (same != found.end())
            ++same->launches;
        else
            found.push_back({convolution_name(problem), problem, 1});
    }
    return found;
}

}  // namespace kinetograph::cli
