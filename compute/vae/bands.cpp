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

/// Where a stage of bands begins, and the halo: rows that a band reads beyond those that it makes, on either side, in
/// the input of that pass.
struct Reach {
    std::size_t pass = 0;
    std::int64_t rows = 0;
};

bool keeps_rows(const nn::Pass& pass) {
    const auto* conv = std::get_if<nn::ConvPass>(&pass);
    return conv != nullptr && conv->conv->history() > 0;
}

/// Of bands that begin at `cut`; nothing if they cannot. Walks from the output back to the cut and adds up what each
/// pass reads beyond what it makes: after two 3x3 convolutions on doubled pixels it is 2 rows there, 1 before the
/// doubling. More than one value that is needed at the cut means that a later pass reads a value made before it.
std::optional<std::vector<Reach>> reaches(const std::vector<nn::Pass>& passes, std::size_t cut) {
    const nn::Value value = nn::input_of(passes[cut]);
    if (keeps_rows(passes[cut])) return std::nullopt;  // whole ones
    std::vector<Reach> stages;
    std::map<nn::Value, std::int64_t> around;  // rows, of the values that are needed
    const auto need = [&](nn::Value read, std::int64_t rows) { around[read] = std::max(around[read], rows); };
    for (std::size_t i = passes.size(); i-- > cut;) {
        if (std::holds_alternative<nn::AttentionPass>(passes[i])) return std::nullopt;
        std::int64_t rows = 0;
        for (const nn::Value output : outputs_of(passes[i]))
            if (const auto made = around.extract(output)) rows = std::max(rows, made.mapped());
        const bool is_alone = around.empty();
        if (const auto* conv = std::get_if<nn::ConvPass>(&passes[i])) {
            if (!conv->conv->stride.all(1)) return std::nullopt;
            if (conv->residual == value) return std::nullopt;  // the sum would overwrite it
            if (conv->residual) need(*conv->residual, rows);
            rows += conv->conv->filter.r / 2;
        }
        if (upsamples(passes[i])) rows = (rows + 1) / 2;
        need(nn::input_of(passes[i]), rows);
        if (i > cut && upsamples(passes[i]) && is_alone && !keeps_rows(passes[i])) stages.push_back({i, rows});
    }
    if (around.size() != 1) return std::nullopt;
    stages.push_back({cut, around.at(value)});
    std::ranges::reverse(stages);
    return stages;
}

/// For each pass from `cut` on, rows of its input for a row of the cut's.
std::vector<std::int64_t> scales(const std::vector<nn::Pass>& passes, std::size_t cut) {
    std::map<nn::Value, std::int64_t> of{{nn::input_of(passes[cut]), 1}};
    std::vector<std::int64_t> result;
    for (std::size_t i = cut; i < passes.size(); ++i) {
        result.push_back(of.at(nn::input_of(passes[i])));
        for (const nn::Value output : outputs_of(passes[i]))
            of[output] = result.back() * (upsamples(passes[i]) ? 2 : 1);
    }
    return result;
}

/// Makes bands of a value of `height` rows.
class BandCutter {
  public:
    BandCutter(const std::vector<nn::Pass>& passes, std::size_t cut, std::int64_t height)
        : cut_(cut), height_(height), reaches_(reaches(passes, cut).value()), scales_(scales(passes, cut)) {}

    std::int64_t blocks() const { return (height_ + kGranularity - 1) / kGranularity; }
    Rows rows(std::int64_t begin, std::int64_t end) const {
        const std::int64_t first = begin * kGranularity;
        return {first, std::min(height_, end * kGranularity) - first};
    }
    /// The band that makes these rows. Further down it reads no rows that it has not computed.
    Band band(const Rows& rows) const {
        Band stages;
        for (const Reach& reach : reaches_) {
            const std::int64_t scale = scales_[reach.pass - cut_], height = scale * height_;
            const Rows made{scale * rows.first, scale * rows.count};
            std::int64_t top = std::max<std::int64_t>(0, made.first - reach.rows) / kGranularity * kGranularity;
            std::int64_t bottom = made.first + made.count + reach.rows;
            bottom = std::min(height, (bottom + kGranularity - 1) / kGranularity * kGranularity);
            if (!stages.empty()) {
                const Rows& before = stages.back().read;
                const std::int64_t grown = made.count / stages.back().made.count;
                top = std::max(top, grown * before.first);
                bottom = std::min(bottom, grown * (before.first + before.count));
            }
            stages.push_back({reach.pass, made, {top, bottom - top}});
        }
        return stages;
    }

  private:
    std::size_t cut_;
    std::int64_t height_;
    std::vector<Reach> reaches_;
    std::vector<std::int64_t> scales_;
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

/// Multiply-adds of a step: before the cut, and in the bands' stages for each row that they read.
class StepWork {
  public:
    StepWork(const std::vector<nn::Pass>& passes, std::size_t cut, const std::vector<nn::Extent>& whole) {
        for (std::size_t i = 0; i < cut; ++i) before_ += multiply_adds(passes[i], whole);
        for (std::size_t i = cut; i < passes.size(); ++i) after_.push_back(multiply_adds(passes[i], whole));
        const std::vector<std::int64_t> scale = scales(passes, cut);
        const std::int64_t height = whole[nn::input_of(passes[cut])].height;
        for (std::size_t i = 0; i < after_.size(); ++i) after_[i] /= static_cast<double>(scale[i] * height);
        cut_ = cut;
    }
    double before() const { return before_; }
    double of(const Band& band) const {
        double sum = 0;
        for (std::size_t s = 0; s < band.size(); ++s) {
            const std::size_t end = s + 1 < band.size() ? band[s + 1].pass - cut_ : after_.size();
            double of_rows = 0;
            for (std::size_t i = band[s].pass - cut_; i < end; ++i) of_rows += after_[i];
            sum += of_rows * static_cast<double>(band[s].read.count);
        }
        return sum;
    }

  private:
    std::size_t cut_ = 0;
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
        if (upsamples(passes[i]) && upsampling-- == 0) return reaches(passes, i) ? std::optional(i) : std::nullopt;
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
