#include <kinetograph/compute/vae/parameters.hpp>

#include <cassert>

namespace kinetograph::vae {

Result<const conv::Convolution*> Parameters::convolution(const std::string& key, const conv::ConvProblem& problem,
                                                         OutputChannels channels, const std::string& norm_key) {
    const auto [first, last] = convolutions_.equal_range(key);
    for (auto it = first; it != last; ++it)
        if (it->second.first_channel == channels.first && it->second.convolution->problem() == problem)
            return it->second.convolution.get();

    assert(load_ && "every convolution of a step is made before detach()");
    const std::vector<float> filter = load_(key + ".weight");
    const std::vector<float> bias = load_(key + ".bias");
    const auto begin = static_cast<std::size_t>(channels.first);
    const auto count = channels.count > 0 ? static_cast<std::size_t>(channels.count) : bias.size();
    const std::vector<float> no_gamma;
    const std::vector<float>& gamma = problem.norm == conv::Norm::None ? no_gamma : *this->gamma(norm_key);
    const std::size_t per_channel = filter.size() / bias.size();
    auto created =
        conv::Convolution::create(device_, problem,
                                  {.filter = std::span(filter).subspan(begin * per_channel, count * per_channel),
                                   .bias = std::span(bias).subspan(begin, count),
                                   .gamma = gamma});
    if (!created) return fail(std::move(created.error()), key);
    return convolutions_.emplace(key, Bound{channels.first, std::move(*created)})->second.convolution.get();
}

std::uint64_t Parameters::bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& [key, bound] : convolutions_) {
        const conv::ConvProblem& problem = bound.convolution->problem();
        bytes += static_cast<std::uint64_t>(problem.filter_elements()) * tensor::bytes_per_element(problem.dtype);
    }
    return bytes;
}

std::shared_ptr<const std::vector<float>> Parameters::gamma(const std::string& key) {
    auto& gamma = gammas_[key];
    if (!gamma) {
        assert(load_ && "every gamma of a step is loaded before detach()");
        gamma = std::make_shared<const std::vector<float>>(load_(key + ".gamma"));
    }
    return gamma;
}

}  // namespace kinetograph::vae
