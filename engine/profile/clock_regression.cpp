#include <kinetograph/engine/profile/clock_regression.hpp>

#include <algorithm>
#include <cassert>
#include <cmath>

namespace kinetograph::profile {
namespace {

constexpr double kMostDrift = 10 * ClockRegression::kQuartz;  // more is noise

}  // namespace

ClockRegression::ClockRegression(double nominal_period, std::uint32_t valid_bits, std::size_t window)
    : period_(nominal_period),
      valid_bits_(std::clamp<std::uint32_t>(valid_bits, 1, 64)),
      window_(std::max<std::size_t>(window, 2)) {}

double ClockRegression::Reading::sigma() const { return 1.0 / std::sqrt(weight); }

std::int64_t ClockRegression::ticks_since(std::uint64_t origin, std::uint64_t ticks) const {
    const std::uint32_t unused = 64 - valid_bits_;
    return static_cast<std::int64_t>((ticks - origin) << unused) >> unused;
}

double ClockRegression::nominal_since(std::uint64_t origin, std::uint64_t ticks) const {
    return static_cast<double>(ticks_since(origin, ticks)) * period_;
}

/// What a counter that does not wrap shows with `ticks`, at about the host time `near`.
std::uint64_t ClockRegression::unwrapped(std::uint64_t ticks, Nanoseconds near) const {
    const double since = static_cast<double>((near - origin_.host).count()) / period_;
    const std::uint64_t guess = origin_.ticks + static_cast<std::uint64_t>(std::llround(since));
    return guess + static_cast<std::uint64_t>(ticks_since(guess, ticks));
}

/// Nominal nanoseconds.
double ClockRegression::since_origin(std::uint64_t unwrapped) const {
    return static_cast<double>(static_cast<std::int64_t>(unwrapped - origin_.ticks)) * period_;
}

void ClockRegression::add(std::uint64_t ticks, Nanoseconds host, Nanoseconds uncertainty) {
    if (!empty()) ticks = unwrapped(ticks, host);
    const double sigma = std::max(1.0, static_cast<double>(uncertainty.count()));
    if (has_jumped(ticks, host, uncertainty)) readings_.clear();
    if (readings_.size() == window_) readings_.erase(readings_.begin());
    readings_.push_back({ticks, host, 1.0 / (sigma * sigma)});
    origin_ = readings_.back();
    fit();
}

/// Whether the reading is further from the line than four times its uncertainty, a millisecond and the largest drift
/// since the last reading together.
bool ClockRegression::has_jumped(std::uint64_t ticks, Nanoseconds host, Nanoseconds uncertainty) const {
    if (empty()) return false;
    const double since =
        std::min(std::abs(since_origin(ticks)), std::abs(static_cast<double>((host - origin_.host).count())));
    const auto error = static_cast<double>((host - to_host(ticks, host)).count());
    return std::abs(error) > 4.0 * static_cast<double>(uncertainty.count()) + 1e6 + kMostDrift * since;
}

void ClockRegression::fit() {
    // With x the nominal device time and y = host - x, both from the origin: y = offset + drift * x.
    double sum = 0.0, sum_x = 0.0, sum_y = 0.0;
    const auto x_of = [&](const Reading& reading) { return since_origin(reading.ticks); };
    const auto y_of = [&](const Reading& reading) {
        return static_cast<double>((reading.host - origin_.host).count()) - x_of(reading);
    };
    for (const Reading& reading : readings_) {
        sum += reading.weight;
        sum_x += reading.weight * x_of(reading);
        sum_y += reading.weight * y_of(reading);
    }
    const double mean_x = sum_x / sum, mean_y = sum_y / sum;
    double variance = 0.0, covariance = 0.0;
    for (const Reading& reading : readings_) {
        variance += reading.weight * (x_of(reading) - mean_x) * (x_of(reading) - mean_x);
        covariance += reading.weight * (x_of(reading) - mean_x) * (y_of(reading) - mean_y);
    }
    // Two readings a microsecond apart say nothing about drift.
    const double spread = x_of(readings_.back()) - x_of(readings_.front());
    is_drift_fitted_ = spread > 1e6 && variance > 0.0;
    drift_ = is_drift_fitted_ ? std::clamp(covariance / variance, -kMostDrift, kMostDrift) : 0.0;
    offset_ = mean_y - drift_ * mean_x;
    double squares = 0.0;
    for (const Reading& reading : readings_) {
        const double error = y_of(reading) - offset_ - drift_ * x_of(reading);
        squares += reading.weight * error * error;
    }
    residual_ = Nanoseconds(std::llround(std::sqrt(squares / sum)));
}

Nanoseconds ClockRegression::error() const {
    if (empty()) return {};
    const double weight = std::ranges::max(readings_, {}, &Reading::weight).weight;
    return residual_ + Nanoseconds(std::llround(1.0 / std::sqrt(weight)));
}

/// The line's value at x is linear in the readings: sum of c_i(x) * y_i, where c_i(x) depends only on the readings'
/// times and weights. Errors of at most sigma_i thus move it by at most the sum of |c_i(x)| * sigma_i, which is largest
/// at an end of the window.
Nanoseconds ClockRegression::bound(Nanoseconds ahead) const {
    if (empty()) return {};
    const auto x_of = [&](const Reading& reading) { return since_origin(reading.ticks); };
    double sum = 0.0, sum_x = 0.0, variance = 0.0, beside = 0.0;
    for (const Reading& reading : readings_) {
        sum += reading.weight;
        sum_x += reading.weight * x_of(reading);
    }
    const double mean_x = sum_x / sum;
    for (const Reading& reading : readings_) {
        const double x = x_of(reading);
        variance += reading.weight * (x - mean_x) * (x - mean_x);
        const double host = static_cast<double>((reading.host - origin_.host).count());
        // How far readings are off the line beyond their uncertainty: the clocks did not run evenly.
        beside = std::max(beside, std::abs(host - x - offset_ - drift_ * x) - reading.sigma());
    }
    double most = 0.0;
    for (const double end : {x_of(readings_.front()), static_cast<double>(ahead.count())}) {
        double comes_through = 0.0;
        for (const Reading& reading : readings_) {
            const double slope =
                is_drift_fitted_ ? (end - mean_x) * reading.weight * (x_of(reading) - mean_x) / variance : 0.0;
            comes_through += std::abs(reading.weight / sum + slope) * reading.sigma();
        }
        most = std::max(most, comes_through + (is_drift_fitted_ ? 0.0 : kQuartz * std::abs(end - mean_x)));
    }
    return Nanoseconds(std::llround(std::ceil(most + beside)));
}

Nanoseconds ClockRegression::to_host(std::uint64_t ticks, Nanoseconds near) const {
    assert(!empty() && "a clock is mapped only after its first reading");
    const double x = since_origin(unwrapped(ticks, near));
    return origin_.host + Nanoseconds(std::llround(x + offset_ + drift_ * x));
}

}  // namespace kinetograph::profile
