#include <kinetograph/engine/profile/duration_sketch.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

namespace kinetograph::profile {
namespace {

constexpr unsigned kBits = 6;  // bits below a duration's highest one that select its bucket
constexpr std::uint64_t kPerPower = 1U << kBits;

std::size_t bucket_of(Nanoseconds duration) {
    const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0));
    if (value < kPerPower) return value;
    const auto shift = static_cast<unsigned>(std::bit_width(value)) - 1 - kBits;
    return (shift + 1) * kPerPower + (value >> shift) - kPerPower;
}

Nanoseconds middle_of(std::size_t bucket) {
    if (bucket < kPerPower) return Nanoseconds(bucket);
    const std::size_t shift = bucket / kPerPower - 1;
    const std::uint64_t low = (kPerPower + bucket % kPerPower) << shift;
    return Nanoseconds(low + (std::uint64_t{1} << shift) / 2);
}

}  // namespace

void DurationSketch::add(Nanoseconds duration) {
    const std::size_t bucket = bucket_of(duration);
    if (counts_.empty()) {
        first_ = bucket;
        min_ = max_ = duration;
    }
    if (bucket < first_) {
        counts_.insert(counts_.begin(), first_ - bucket, 0);
        first_ = bucket;
    }
    if (bucket - first_ >= counts_.size()) counts_.resize(bucket - first_ + 1);
    ++counts_[bucket - first_];
    min_ = std::min(min_, duration);
    max_ = std::max(max_, duration);
    ++count_;
    const auto value = static_cast<double>(duration.count());
    const double from_mean = value - mean_;
    mean_ += from_mean / static_cast<double>(count_);
    squares_ += from_mean * (value - mean_);
}

Nanoseconds DurationSketch::mean() const { return Nanoseconds(std::llround(mean_)); }

double DurationSketch::deviation() const {
    return count_ < 2 ? 0.0 : std::sqrt(squares_ / static_cast<double>(count_ - 1));
}

Nanoseconds DurationSketch::quantile(double q) const {
    if (count_ == 0) return {};
    const double wanted = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count_));
    const auto rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i)
        if ((seen += counts_[i]) >= rank) return std::clamp(middle_of(first_ + i), min_, max_);
    return max_;
}

std::vector<std::uint32_t> DurationSketch::histogram(std::size_t bins) const {
    std::vector<std::uint32_t> result(bins);
    const auto range = static_cast<double>((max_ - min_).count() + 1);
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        const auto at = static_cast<double>((std::clamp(middle_of(first_ + i), min_, max_) - min_).count());
        const auto bin = static_cast<std::size_t>(at / range * static_cast<double>(bins));
        result[std::min(bin, bins - 1)] += counts_[i];
    }
    return result;
}

}  // namespace kinetograph::profile
