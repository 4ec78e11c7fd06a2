#include <kinetograph/compute/vae/bands.hpp>

#include <algorithm>
#include <map>

namespace kinetograph::vae {
namespace {

constexpr std::int64_t kGranularity = 4;

bool upsamples(const nn::Pass& pass) {
    if (const auto* conv = std::get_if<nn::ConvPass>(&pass)) return conv->upsample;
    const auto* own = std::get_if<nn::OperatorPass>(&pass);
    return own != nullptr && own->doubles();
}

std::vector<nn::Value> outputs_of(const nn::Pass& pass) {
    const auto with_norm = [](const auto& made) {
        return made.norm ? std::vector{made.output, made.norm->output} : std::vector{made.output};
    };
    if (const auto* conv = std::get_if<nn::ConvPass>(&pass)) return with_norm(*conv);
    if (const auto* norm = std::get_if<nn::NormPass>(&pass)) return {norm->norm.output};
    if (const auto* own = std::get_if<nn::OperatorPass>(&pass)) return {own->output};
    if (const auto* drop = std::get_if<nn::DropPass>(&pass)) return {drop->output};
    if (std::holds_alternative<nn::KeepPass>(pass)) return {};
    return with_norm(std::get<nn::AttentionPass>(pass));
}

/// The halo: rows that a band reads beyond those that it makes, on either side, in the value at which bands begin.
/// Nothing if they cannot begin at `cut`. Walks from the output back to the cut and adds up what each pass reads beyond
/// what it makes: after two 3x3 convolutions on doubled pixels it is 2 rows there, 1 before the doubling. More than one
/// value that is needed at the cut means that a later pass reads a value made before it.
std::optional<std::int64_t> halo(const std::vector<nn::Pass>& passes, std::size_t cut) {
    const nn::Value value = nn::input_of(passes[cut]);
    const auto* first = std::get_if<nn::ConvPass>(&passes[cut]);
    const bool keeps_whole_rows = first != nullptr && first->conv->history() > 0;
    if (keeps_whole_rows) return std::nullopt;
    std::map<nn::Value, std::int64_t> around;  // rows, of the values that are needed
    const auto need = [&](nn::Value read, std::int64_t rows) { around[read] = std::max(around[read], rows); };
    for (std::size_t i = passes.size(); i-- > cut;) {
        if (std::holds_alternative<nn::AttentionPass>(passes[i])) return std::nullopt;
        std::int64_t rows = 0;
        for (const nn::Value output : outputs_of(passes[i]))
            if (const auto made = around.extract(output)) rows = std::max(rows, made.mapped());
        if (const auto* conv = std::get_if<nn::ConvPass>(&passes[i])) {
            if (!conv->conv->stride.all(1)) return std::nullopt;
            if (conv->residual == value) return std::nullopt;  // the sum would overwrite it
            if (conv->residual) need(*conv->residual, rows);
            rows += conv->conv->filter.r / 2;
        }
        need(nn::input_of(passes[i]), upsamples(passes[i]) ? (rows + 1) / 2 : rows);
    }
    return around.size() == 1 ? std::optional(around.at(value)) : std::nullopt;
}

}  // namespace

std::int64_t count_upsamplings(const nn::Network& network) {
    return std::ranges::count_if(network.nodes(), [](const nn::Node& node) {
        return nn::is_own_pass(node.primitive) && nn::OperatorPass{.primitive = &node.primitive}.doubles();
    });
}

std::optional<std::size_t> find_cut(const std::vector<nn::Pass>& passes, std::int64_t upsampling) {
    for (std::size_t i = 0; i < passes.size(); ++i)
        if (upsamples(passes[i]) && upsampling-- == 0) return halo(passes, i) ? std::optional(i) : std::nullopt;
    return std::nullopt;
}

std::vector<Band> cut_into_bands(const std::vector<nn::Pass>& passes, std::size_t cut, std::int64_t height,
                                 std::int64_t count) {
    const std::int64_t around = halo(passes, cut).value(), blocks = (height + kGranularity - 1) / kGranularity;
    const std::int64_t bands = std::clamp<std::int64_t>(count, 1, blocks);
    const auto begin = [&](std::int64_t band) { return std::min(height, band * blocks / bands * kGranularity); };
    std::vector<Band> result;
    for (std::int64_t i = 0; i < bands; ++i) {
        const std::int64_t first = begin(i), end = begin(i + 1);
        const std::int64_t top = std::max<std::int64_t>(0, first - around) / kGranularity * kGranularity;
        const std::int64_t bottom = std::min(height, (end + around + kGranularity - 1) / kGranularity * kGranularity);
        result.push_back({.made = {first, end - first}, .read = {top, bottom - top}});
    }
    return result;
}

double work_ratio(const std::vector<nn::Pass>& passes, std::size_t cut, const std::vector<Band>& bands,
                  const std::vector<nn::Extent>& whole) {
    std::int64_t made = 0, read = 0;
    for (const Band& band : bands) {
        made += band.made.count;
        read += band.read.count;
    }
    double before = 0, after = 0;
    for (std::size_t i = 0; i < passes.size(); ++i) {
        const auto* pass = std::get_if<nn::ConvPass>(&passes[i]);
        if (pass == nullptr) continue;
        const conv::Filter& filter = pass->conv->filter;
        (i < cut ? before : after) += static_cast<double>(whole[pass->output].elements()) *
                                      static_cast<double>(pass->conv->c_in * filter.q * filter.r * filter.s);
    }
    return (before + after * static_cast<double>(read) / static_cast<double>(made)) / (before + after);
}

}  // namespace kinetograph::vae
