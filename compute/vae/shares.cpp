#include <kinetograph/compute/vae/shares.hpp>

#include <kinetograph/compute/conv/dispatch.hpp>

#include <algorithm>
#include <optional>

namespace kinetograph::vae {
namespace {

/// Of a pass before the cut, beside what its method predicts: launches, copies of kept frames. Fitted to two H200s at
/// 1280x704.
constexpr double kSmallPass = 25e-6;

/// What bands take of devices.
class BandTimes {
  public:
    BandTimes(const StepList& list, std::size_t cut, const NetworkDesc& network, std::span<const ShareDevice> devices)
        : list_(list), cut_(cut), network_(network), devices_(devices), known_(devices.size()) {
        for (std::size_t i = 0; i < devices.size(); ++i) predicts_ = predicts_ && before(i).has_value();
    }

    double of(std::size_t device, const Band& band) {
        if (!predicts_) {
            double adds = multiply_adds(list_.passes, cut_, list_.extents, band);
            if (device == 0) adds += multiply_adds_before(list_.passes, cut_, list_.extents);
            return adds / devices_[device].speed;
        }
        std::vector<std::int64_t> heights;
        for (const Rows& reads : band.reads) heights.push_back(reads.count);
        const auto after =
            seconds(device, list_.items(cut_, list_.passes.size(), !list_.one_step, heights)).value_or(0);
        return after + (device == 0 ? *before(0) : 0);
    }

  private:
    std::optional<double> before(std::size_t device) {
        if (devices_[device].before_attention == 0) return std::nullopt;
        const auto convolutions = seconds(device, list_.items(0, cut_, false));
        if (!convolutions) return std::nullopt;
        return *convolutions + devices_[device].before_attention + kSmallPass * static_cast<double>(cut_);
    }
    std::optional<double> seconds(std::size_t device, const StepItems& items) {
        double sum = 0;
        for (const StepItem& item : items.items)
            for (const conv::ConvProblem& problem : item.launches) {
                const auto predicted = seconds(device, problem);
                if (!predicted) return std::nullopt;
                sum += *predicted;
            }
        return sum;
    }
    std::optional<double> seconds(std::size_t device, const conv::ConvProblem& problem) {
        auto& known = known_[device];
        const auto at = std::ranges::find(known, problem, &Known::problem);
        if (at != known.end()) return at->seconds;
        const auto rows = conv::explain(*devices_[device].info, problem, network_.sums, network_.preferred_backend);
        return known.emplace_back(Known{problem, rows.front().open ? rows.front().seconds : std::nullopt}).seconds;
    }

    struct Known {
        conv::ConvProblem problem;
        std::optional<double> seconds;
    };
    const StepList& list_;
    std::size_t cut_;
    const NetworkDesc& network_;
    std::span<const ShareDevice> devices_;
    std::vector<std::vector<Known>> known_;  ///< [device]
    bool predicts_ = true;
};

/// Shares as their ends, in blocks of rows.
class Shares {
  public:
    Shares(const BandCutter& cutter, BandTimes& times, std::size_t devices) : cutter_(cutter), times_(times) {
        const auto bands = std::min<std::int64_t>(static_cast<std::int64_t>(devices), cutter.blocks());
        for (std::int64_t i = 1; i <= bands; ++i) ends_.push_back(i * cutter.blocks() / bands);
    }

    /// Moves blocks from the device that takes longest to the one that is done first, as long as that helps.
    void balance() {
        for (std::int64_t moved = cutter_.blocks(); moved >= 1; moved /= 2)
            while (move(moved)) {
            }
    }
    std::vector<Rows> rows() const {
        std::vector<Rows> result;
        for (std::size_t i = 0; i < ends_.size(); ++i) result.push_back(cutter_.rows(begin(i), ends_[i]));
        return result;
    }

  private:
    std::int64_t begin(std::size_t device) const { return device == 0 ? 0 : ends_[device - 1]; }
    double time(std::size_t device) const {
        return times_.of(device, cutter_.band(cutter_.rows(begin(device), ends_[device])));
    }
    double longest() const {
        double most = 0;
        for (std::size_t i = 0; i < ends_.size(); ++i) most = std::max(most, time(i));
        return most;
    }
    /// False, and nothing has moved, if it does not help.
    bool move(std::int64_t blocks) {
        std::size_t slow = 0, fast = 0;
        std::vector<double> times;
        for (std::size_t i = 0; i < ends_.size(); ++i) {
            times.push_back(time(i));
            if (times[i] > times[slow]) slow = i;
            if (times[i] < times[fast]) fast = i;
        }
        if (ends_[slow] - begin(slow) <= blocks) return false;
        const std::vector<std::int64_t> before = ends_;
        for (std::size_t i = std::min(slow, fast); i < std::max(slow, fast); ++i)
            ends_[i] += slow < fast ? -blocks : blocks;
        if (longest() < times[slow]) return true;
        ends_ = before;
        return false;
    }

    const BandCutter& cutter_;
    BandTimes& times_;
    std::vector<std::int64_t> ends_;
};

}  // namespace

std::vector<Rows> share_rows(const StepList& list, std::size_t cut, std::int64_t block, const NetworkDesc& network,
                             std::span<const ShareDevice> devices) {
    const BandCutter cutter(list.passes, cut, list.extents[nn::input_of(list.passes[cut])].height, block);
    BandTimes times(list, cut, network, devices);
    Shares shares(cutter, times, devices.size());
    shares.balance();
    return shares.rows();
}

}  // namespace kinetograph::vae
