#include <kinetograph/engine/profile/comparison.hpp>

#include <kinetograph/engine/profile/student.hpp>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace kinetograph::profile {
namespace {

double later_calls(const PassSummary& pass) { return static_cast<double>(pass.calls - 1); }

/// Variance of the mean.
double squared_error(const PassSummary& pass) { return pass.deviation * pass.deviation / later_calls(pass); }

double chance_of(const PassSummary& before, const PassSummary& after, double change) {
    if (before.calls < 3 || after.calls < 3) return 1.0;
    const double of_before = squared_error(before), of_after = squared_error(after), both = of_before + of_after;
    if (both == 0.0) return change == 0.0 ? 1.0 : 0.0;
    const double degrees =
        both * both /
        (of_before * of_before / (later_calls(before) - 1.0) + of_after * of_after / (later_calls(after) - 1.0));
    return chance_of_t(change / std::sqrt(both), degrees);
}

/// A capture's passes by name and track: captures of thousands of passes are compared several times a second.
class Index {
  public:
    explicit Index(const Capture& capture) {
        for (const PassSummary& pass : capture.passes) passes_.emplace(Key{pass.name, pass.track}, &pass);
    }
    /// Null: it is not there.
    const PassSummary* find(const PassSummary& pass) const {
        const auto found = passes_.find({pass.name, pass.track});
        return found == passes_.end() ? nullptr : found->second;
    }

  private:
    using Key = std::pair<std::string_view, std::string_view>;
    struct Hash {
        std::size_t operator()(const Key& key) const {
            const std::hash<std::string_view> hash;
            return hash(key.first) * 31 + hash(key.second);
        }
    };
    std::unordered_map<Key, const PassSummary*, Hash> passes_;
};

/// The calls that `later` has beyond `earlier`. Their sum of squares is that of all calls, less that of the earlier
/// ones and the term for the distance of the two means (Chan's formula for merging variances, solved for one part).
PassSummary between(const PassSummary& earlier, const PassSummary& later) {
    const auto squares = [&](const PassSummary& pass) {
        return pass.deviation * pass.deviation * std::max(later_calls(pass) - 1.0, 0.0);
    };
    const double before = later_calls(earlier), calls = later_calls(later) - before;
    PassSummary result = later;
    result.calls = later.calls - earlier.calls + 1;
    result.p50 = result.p95 = result.p99 = result.max = {};
    result.total = later.total - earlier.total;
    const double mean = result.total / calls, apart = before > 0.0 ? earlier.total / before - mean : 0.0;
    result.mean = Nanoseconds(std::llround(mean));
    const double rest = squares(later) - squares(earlier) - apart * apart * before * calls / later_calls(later);
    result.deviation = calls > 1.0 ? std::sqrt(std::max(rest, 0.0) / (calls - 1.0)) : 0.0;
    return result;
}

PassChange change_of(const PassSummary* before, const PassSummary* after) {
    PassChange change{.before = before, .after = after};
    if (before != nullptr) change.change -= before->mean;
    if (after != nullptr) change.change += after->mean;
    if (!change.is_on_both_sides()) return change;
    if (before->mean > Nanoseconds{})
        change.ratio = static_cast<double>(after->mean.count()) / static_cast<double>(before->mean.count());
    change.chance = chance_of(*before, *after, static_cast<double>(change.change.count()));
    return change;
}

}  // namespace

Capture since(const Capture& earlier, const Capture& later) {
    Capture result{later.label, {}};
    const Index index(earlier);
    for (const PassSummary& pass : later.passes) {
        const PassSummary* before = index.find(pass);
        if (before == nullptr)
            result.passes.push_back(pass);
        else if (pass.calls > before->calls)
            result.passes.push_back(between(*before, pass));
    }
    return result;
}

std::vector<PassChange> compare(const Capture& before, const Capture& after) {
    std::vector<PassChange> changes;
    const Index of_before(before), of_after(after);
    for (const PassSummary& pass : before.passes) changes.push_back(change_of(&pass, of_after.find(pass)));
    for (const PassSummary& pass : after.passes)
        if (of_before.find(pass) == nullptr) changes.push_back(change_of(nullptr, &pass));
    std::ranges::stable_sort(changes, std::greater{},
                             [](const PassChange& each) { return std::abs(each.change.count()); });
    return changes;
}

}  // namespace kinetograph::profile
