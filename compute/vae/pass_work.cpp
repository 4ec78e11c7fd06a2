#include <kinetograph/compute/vae/pass_work.hpp>

#include <algorithm>

namespace kinetograph::vae {

graph::PassWork work_of(const std::vector<const conv::Convolution*>& parts) {
    graph::PassWork work{.kernel = std::string(parts.front()->backend()), .reason = parts.front()->reason()};
    for (const conv::Convolution* each : parts) work.operations += each->problem().flops();
    return work;
}

graph::PassWork work_of(const nn::Operator& attention, const conv::AttentionProblem& problem, std::int64_t frames) {
    const std::string_view text = attention.explanation();
    const std::size_t colon = std::min(text.find(": "), text.size());
    const auto tokens = static_cast<double>(problem.tokens);
    return {.operations = 4.0 * tokens * tokens * static_cast<double>(problem.channels * frames),
            .kernel = std::string(text.substr(0, colon)),
            .reason = std::string(text.substr(std::min(colon + 2, text.size())))};
}

}  // namespace kinetograph::vae
