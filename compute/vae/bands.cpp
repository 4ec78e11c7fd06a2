#include <kinetograph/compute/vae/bands.hpp>

#include <algorithm>
#include <map>

namespace kinetograph::vae {
namespace {

bool upsamples(const nn::Pass& pass) {
    if (const auto* conv = std::get_if<nn::ConvPass>(&pass)) return conv->upsample;
    const auto* own = std::get_if<nn::OperatorPass>(&pass);
    return own != nullptr && own->doubles();
}

/// Whether rows of the picture cannot be made of some rows of what the pass reads.
bool reads_picture(const nn::Pass& pass) {
    const auto* own = std::get_if<nn::OperatorPass>(&pass);
    return std::holds_alternative<nn::AttentionPass>(pass) || (own != nullptr && own->reads_picture());
}

bool keeps_rows(const nn::Pass& pass) {
    const auto* conv = std::get_if<nn::ConvPass>(&pass);
    return conv != nullptr && conv->conv->history() > 0;
}

/// [pass - cut], the halo: rows of its input beyond those for what the band makes, on either side, that the pass has to
/// compute on. Nothing if bands cannot begin at `cut`. Walks from the output back to the cut and adds up what each pass
/// reads beyond what it makes: after two 3x3 convolutions on doubled pixels it is 2 rows there, 1 before the doubling.
/// More than one value that is needed at the cut means that a later pass reads a value made before it.
std::optional<std::vector<std::int64_t>> halos(const std::vector<nn::Pass>& passes, std::size_t cut) {
    const nn::Value value = nn::input_of(passes[cut]);
    if (keeps_rows(passes[cut])) return std::nullopt;  // whole ones
    std::vector<std::int64_t> result(passes.size() - cut);
    std::map<nn::Value, std::int64_t> around;  // rows, of the values that are needed
    const auto need = [&](nn::Value read, std::int64_t rows) { around[read] = std::max(around[read], rows); };
    for (std::size_t i = passes.size(); i-- > cut;) {
        if (reads_picture(passes[i])) return std::nullopt;
        std::int64_t rows = 0;
        for (const nn::Value output : nn::outputs_of(passes[i]))
            if (const auto made = around.extract(output)) rows = std::max(rows, made.mapped());
        if (const auto* conv = std::get_if<nn::ConvPass>(&passes[i])) {
            if (!conv->conv->stride.all(1)) return std::nullopt;
            if (conv->residual == value) return std::nullopt;  // the sum would overwrite it
            rows += conv->conv->filter.r / 2;
            if (conv->residual) need(*conv->residual, rows);  // all that the pass computes is added there
        }
        // What a step skips keeps the rows on which a later one computes.
        if (const auto* kept = std::get_if<nn::KeepPass>(&passes[i]))
            rows = around[kept->input] + kept->conv->filter.r / 2;
        if (upsamples(passes[i])) rows = (rows + 1) / 2;
        need(nn::input_of(passes[i]), rows);
        result[i - cut] = rows;
    }
    return around.size() == 1 ? std::optional(std::move(result)) : std::nullopt;
}

/// For each pass from `cut` on, rows of its input for a row of the cut's.
std::vector<std::int64_t> scales(const std::vector<nn::Pass>& passes, std::size_t cut) {
    std::map<nn::Value, std::int64_t> of{{nn::input_of(passes[cut]), 1}};
    std::vector<std::int64_t> result;
    for (std::size_t i = cut; i < passes.size(); ++i) {
        result.push_back(of.at(nn::input_of(passes[i])));
        for (const nn::Value output : nn::outputs_of(passes[i]))
            of[output] = result.back() * (upsamples(passes[i]) ? 2 : 1);
    }
    return result;
}

/// Multiply-adds of the whole picture.
double of_picture(const nn::Pass& pass, const std::vector<nn::Extent>& whole) {
    if (const auto* attention = std::get_if<nn::AttentionPass>(&pass)) {
        const nn::Extent& out = whole[attention->output];
        return 2.0 * static_cast<double>(out.elements()) * static_cast<double>(out.height * out.width);
    }
    const auto* conv = std::get_if<nn::ConvPass>(&pass);
    if (conv == nullptr) return 0;
    const conv::Filter& filter = conv->conv->filter;
    return static_cast<double>(whole[conv->output].elements()) *
           static_cast<double>(conv->conv->c_in * filter.q * filter.r * filter.s);
}

}  // namespace

std::int64_t count_upsamplings(const nn::Network& network) {
    return std::ranges::count_if(network.nodes(), [](const nn::Node& node) {
        return nn::is_own_pass(node.primitive) && nn::OperatorPass{.primitive = &node.primitive}.doubles();
    });
}

std::optional<std::size_t> find_cut(const std::vector<nn::Pass>& passes, std::int64_t upsampling) {
    for (std::size_t i = 0; i < passes.size(); ++i)
        if (upsamples(passes[i]) && upsampling-- == 0) return halos(passes, i) ? std::optional(i) : std::nullopt;
    return std::nullopt;
}

std::optional<std::size_t> first_cut(const nn::Network& network, const std::vector<nn::Pass>& passes) {
    for (std::int64_t i = 0; i < count_upsamplings(network); ++i)
        if (const auto cut = find_cut(passes, i)) return cut;
    return std::nullopt;
}

BandCutter::BandCutter(const std::vector<nn::Pass>& passes, std::size_t cut, std::int64_t height, std::int64_t block)
    : passes_(passes),
      cut_(cut),
      height_(height),
      block_(block),
      part_(std::max<std::int64_t>(1, block / 2)),
      halos_(halos(passes, cut).value()),
      scales_(scales(passes, cut)) {}

Rows BandCutter::rows(std::int64_t begin, std::int64_t end) const {
    return {begin * part_, std::min(height_, end * part_) - begin * part_};
}

Band BandCutter::band(const Rows& made) const {
    Band band{made, made, {}};
    for (std::size_t i = 0; i < halos_.size(); ++i) {
        const std::int64_t scale = scales_[i], block = upsamples(passes_[cut_ + i]) ? part_ : block_;
        const std::int64_t top = std::max<std::int64_t>(0, scale * made.first - halos_[i]) / block * block;
        const std::int64_t end = scale * (made.first + made.count) + halos_[i];
        const std::int64_t bottom = std::min(scale * height_, (end + block - 1) / block * block);
        band.reads.push_back({top, bottom - top});
        if (nn::input_of(passes_[cut_ + i]) != nn::input_of(passes_[cut_])) continue;
        const std::int64_t first = std::min(band.read.first, top);
        band.read = {first, std::max(band.read.first + band.read.count, bottom) - first};
    }
    return band;
}

std::vector<Band> BandCutter::bands(std::int64_t count) const {
    const std::int64_t bands = std::clamp<std::int64_t>(count, 1, blocks());
    std::vector<Band> result;
    for (std::int64_t i = 0; i < bands; ++i)
        result.push_back(band(rows(i * blocks() / bands, (i + 1) * blocks() / bands)));
    return result;
}

double multiply_adds_before(const std::vector<nn::Pass>& passes, std::size_t cut,
                            const std::vector<nn::Extent>& whole) {
    double sum = 0;
    for (std::size_t i = 0; i < cut; ++i) sum += of_picture(passes[i], whole);
    return sum;
}

double multiply_adds(const std::vector<nn::Pass>& passes, std::size_t cut, const std::vector<nn::Extent>& whole,
                     const Band& band) {
    double sum = 0;
    for (std::size_t i = cut; i < passes.size(); ++i)
        sum += of_picture(passes[i], whole) * static_cast<double>(band.reads[i - cut].count) /
               static_cast<double>(whole[nn::input_of(passes[i])].height);
    return sum;
}

double work_ratio(const std::vector<nn::Pass>& passes, std::size_t cut, const std::vector<Band>& bands,
                  const std::vector<nn::Extent>& whole) {
    const double before = multiply_adds_before(passes, cut, whole);
    double in_bands = before, at_once = before;
    for (const Band& band : bands) in_bands += multiply_adds(passes, cut, whole, band);
    for (std::size_t i = cut; i < passes.size(); ++i) at_once += of_picture(passes[i], whole);
    return in_bands / at_once;
}

}  // namespace kinetograph::vae
