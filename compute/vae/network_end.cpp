#include <kinetograph/compute/vae/network_end.hpp>

#include <algorithm>

namespace kinetograph::vae {

namespace {

bool can_split(std::span<const nn::Pass> passes, std::size_t first, const nn::primitive::Conv* summed) {
    const auto makes = [&](std::size_t at, nn::Value value) {
        const auto& pass = std::get<nn::ConvPass>(passes[at]);
        return pass.output == value || (pass.norm && pass.norm->output == value);
    };
    const auto made_since = [&](std::size_t end, nn::Value value) {
        for (std::size_t at = first; at < end; ++at)
            if (makes(at, value)) return true;
        return false;
    };
    const auto readers = [&](nn::Value value) {
        std::size_t count = 0;
        for (std::size_t at = first; at < passes.size(); ++at) {
            const auto& pass = std::get<nn::ConvPass>(passes[at]);
            count += (pass.input == value ? 1U : 0U) + (pass.residual == value ? 1U : 0U);
        }
        return count;
    };
    const auto& start = std::get<nn::ConvPass>(passes[first]);
    if (start.conv->history() > 0 || start.residual) return false;
    bool keeps = false;
    for (std::size_t at = first + 1; at < passes.size(); ++at) {
        const auto& pass = std::get<nn::ConvPass>(passes[at]);
        if (!made_since(at, pass.input) || (pass.residual && !made_since(at, *pass.residual))) return false;
        if (pass.conv->history() == 0 || pass.conv == summed) continue;
        const auto& before = std::get<nn::ConvPass>(passes[at - 1]);
        const bool in_residuals_place = before.residual && before.output == pass.input;
        if (!makes(at - 1, pass.input) || in_residuals_place || readers(pass.input) != 1) return false;
        keeps = true;
    }
    return keeps;
}

}  // namespace

NetworkEnd find_end(std::span<const nn::Pass> passes, std::span<const nn::Extent> extents, std::size_t begin,
                    const nn::primitive::Conv* summed) {
    const std::int64_t frames = extents.back().frames;
    std::int64_t history = 0;
    std::size_t first = passes.size();
    for (; first > begin; --first) {
        const auto* pass = std::get_if<nn::ConvPass>(&passes[first - 1]);
        if (pass == nullptr || pass->shuffle != 1 || extents[pass->input].frames != frames ||
            extents[pass->output].frames != frames)
            break;
        const std::int64_t its = pass->conv->history();
        if (its > 0 && history > 0 && its != history) break;
        history = std::max(history, its);
    }
    if (history == 0 || frames < 2 * history) return {.first = passes.size()};
    while (first < passes.size() && !can_split(passes, first, summed)) ++first;
    return {.first = first, .tail_frames = history};
}

}  // namespace kinetograph::vae
