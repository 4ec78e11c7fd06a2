#include <kinetograph/compute/vae/bands.hpp>

#include <algorithm>
#include <map>

namespace kinetograph::vae {
namespace {

constexpr std::int64_t kBlock = 4;                 ///< rows, of what a pass makes
constexpr std::int64_t kGranularity = kBlock / 2;  ///< of the value at which bands begin, which is doubled next

bool upsamples(const nn::Pass& pass) {
    if (const auto* conv = std::get_if<nn::ConvPass>(&pass)) return conv->upsample;
    const auto* own = std::get_if<nn::OperatorPass>(&pass);
    return own != nullptr && own->doubles();
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
        if (std::holds_alternative<nn::AttentionPass>(passes[i])) return std::nullopt;
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

/// Makes bands of a value of `height` rows.
class BandCutter {
  public:
    BandCutter(const std::vector<nn::Pass>& passes, std::size_t cut, std::int64_t height)
        : passes_(passes),
          cut_(cut),
          height_(height),
          halos_(halos(passes, cut).value()),
          scales_(scales(passes, cut)) {}

    std::int64_t blocks() const { return (height_ + kGranularity - 1) / kGranularity; }
    Rows rows(std::int64_t begin, std::int64_t end) const {
        const std::int64_t first = begin * kGranularity;
        return {first, std::min(height_, end * kGranularity) - first};
    }
    /// The band that makes these rows.
    Band band(const Rows& made) const {
        Band band{made, made, {}};
        for (std::size_t i = 0; i < halos_.size(); ++i) {
            const std::int64_t scale = scales_[i], block = upsamples(passes_[cut_ + i]) ? kBlock / 2 : kBlock;
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

  private:
    const std::vector<nn::Pass>& passes_;
    std::size_t cut_;
    std::int64_t height_;
    std::vector<std::int64_t> halos_, scales_;  ///< [pass - cut]
};

/// Of the whole picture.
double multiply_adds(const nn::Pass& pass, const std::vector<nn::Extent>& whole) {
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

/// Multiply-adds of a step: before the cut, and in a band.
class StepWork {
  public:
    StepWork(const std::vector<nn::Pass>& passes, std::size_t cut, const std::vector<nn::Extent>& whole) {
        for (std::size_t i = 0; i < cut; ++i) before_ += multiply_adds(passes[i], whole);
        for (std::size_t i = cut; i < passes.size(); ++i)
            after_.push_back(multiply_adds(passes[i], whole) /
                             static_cast<double>(whole[nn::input_of(passes[i])].height));
    }
    double before() const { return before_; }
    double of(const Band& band) const {
        double sum = 0;
        for (std::size_t i = 0; i < after_.size(); ++i) sum += after_[i] * static_cast<double>(band.reads[i].count);
        return sum;
    }

  private:
    double before_ = 0;
    std::vector<double> after_;  ///< [pass - cut], of a row of its input
};

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

std::vector<Band> cut_into_bands(const std::vector<nn::Pass>& passes, std::size_t cut, std::int64_t height,
                                 std::int64_t count) {
    const BandCutter cutter(passes, cut, height);
    const std::int64_t bands = std::clamp<std::int64_t>(count, 1, cutter.blocks());
    std::vector<Band> result;
    for (std::int64_t i = 0; i < bands; ++i)
        result.push_back(cutter.band(cutter.rows(i * cutter.blocks() / bands, (i + 1) * cutter.blocks() / bands)));
    return result;
}

std::vector<Band> bands_of(const std::vector<nn::Pass>& passes, std::size_t cut, std::int64_t height,
                           std::span<const Rows> made) {
    const BandCutter cutter(passes, cut, height);
    std::vector<Band> result;
    for (const Rows& rows : made) result.push_back(cutter.band(rows));
    return result;
}

std::vector<Rows> share_rows(const std::vector<nn::Pass>& passes, std::size_t cut, const std::vector<nn::Extent>& whole,
                             std::span<const double> speeds) {
    const BandCutter cutter(passes, cut, whole[nn::input_of(passes[cut])].height);
    const StepWork work(passes, cut, whole);
    const auto time_of = [&](std::size_t device, const Rows& rows) {
        return (work.of(cutter.band(rows)) + (device == 0 ? work.before() : 0)) / speeds[device];
    };
    /// Rows, as many as `time` allows and a block at least; the last device takes what is left.
    const auto within = [&](double time) {
        std::vector<Rows> shares;
        for (std::int64_t begin = 0; begin < cutter.blocks();) {
            const std::size_t device = shares.size();
            std::int64_t end = device + 1 < speeds.size() ? begin + 1 : cutter.blocks();
            while (end < cutter.blocks() && time_of(device, cutter.rows(begin, end + 1)) <= time) ++end;
            shares.push_back(cutter.rows(begin, end));
            begin = end;
        }
        return shares;
    };
    const auto longest = [&](const std::vector<Rows>& shares) {
        double time = 0;
        for (std::size_t i = 0; i < shares.size(); ++i) time = std::max(time, time_of(i, shares[i]));
        return time;
    };
    std::vector<Rows> best = within(0);
    for (double from = 0, to = longest(best); to - from > 1e-3 * to;) {
        const double time = (from + to) / 2;
        std::vector<Rows> shares = within(time);
        if (longest(shares) > time) {
            from = time;
            continue;
        }
        to = time;
        best = std::move(shares);
    }
    return best;
}

double work_ratio(const std::vector<nn::Pass>& passes, std::size_t cut, const std::vector<Band>& bands,
                  const std::vector<nn::Extent>& whole) {
    const StepWork work(passes, cut, whole);
    double in_bands = work.before();
    for (const Band& band : bands) in_bands += work.of(band);
    const Band one = cut_into_bands(passes, cut, whole[nn::input_of(passes[cut])].height, 1).front();
    return in_bands / (work.before() + work.of(one));
}

}  // namespace kinetograph::vae
