// ClockRegression: maps a device clock onto the host axis from pairs of readings.
#pragma once

#include <kinetograph/engine/base/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kinetograph::profile {

/// host = offset + ticks * period * (1 + drift), fitted by least squares over the most recent readings, each weighted
/// by the inverse square of its uncertainty. With fewer than two distinct readings the nominal period is used. A
/// reading that no drift explains (a clock was set back, or stood still while the machine slept) begins a new line.
class ClockRegression {
  public:
    static constexpr double kQuartz = 1e-4;  ///< what a device's clock may drift by: quartz is accurate to 100 ppm

    /// `nominal_period` nanoseconds per tick (VkPhysicalDeviceLimits::timestampPeriod); `valid_bits` of the counter,
    /// which wraps beyond them, and whose other bits are ignored; `window` readings are kept.
    explicit ClockRegression(double nominal_period = 1.0, std::uint32_t valid_bits = 64, std::size_t window = 64);

    /// A reading of both clocks at one instant. `uncertainty` bounds the time between the two readings.
    void add(std::uint64_t ticks, Nanoseconds host, Nanoseconds uncertainty);

    bool empty() const { return readings_.empty(); }
    /// Nominal nanoseconds from `origin` to `ticks`, signed; a wrapping counter is taken the shorter way round.
    double nominal_since(std::uint64_t origin, std::uint64_t ticks) const;
    /// Host time of a device time stamp, which was taken up to half the counter's range before or after the host time
    /// `near`, or the last reading. Needs at least one reading.
    Nanoseconds to_host(std::uint64_t ticks, Nanoseconds near) const;
    Nanoseconds to_host(std::uint64_t ticks) const { return to_host(ticks, origin_.host); }

    double drift_ppm() const { return drift_ * 1e6; }  ///< of the device clock against its nominal period
    /// Root mean square distance of the readings from the line.
    Nanoseconds residual() const { return residual_; }
    /// Estimated error of a time on the host axis: the residual plus the uncertainty of the best reading, as all
    /// readings may share an offset that large. 0 while empty.
    Nanoseconds error() const;
    /// The largest possible error of a time on the host axis, between the oldest kept reading and `ahead` after the
    /// newest, provided that every reading is within its uncertainty of the truth and that the device's clock runs
    /// evenly over the window. 0 while empty.
    Nanoseconds bound(Nanoseconds ahead) const;

  private:
    struct Reading {
        std::uint64_t ticks;  ///< of a counter that does not wrap
        Nanoseconds host;
        double weight;
        double sigma() const;
    };
    std::int64_t ticks_since(std::uint64_t origin, std::uint64_t ticks) const;
    std::uint64_t unwrapped(std::uint64_t ticks, Nanoseconds near) const;
    double since_origin(std::uint64_t unwrapped) const;
    bool has_jumped(std::uint64_t ticks, Nanoseconds host, Nanoseconds uncertainty) const;
    void fit();

    double period_;
    std::uint32_t valid_bits_;
    std::size_t window_;
    std::vector<Reading> readings_;  // oldest first
    Reading origin_{};               // the newest reading: keeps the numbers small
    double offset_ = 0.0;            // nanoseconds, at the origin
    double drift_ = 0.0;
    bool is_drift_fitted_ = false;
    Nanoseconds residual_{};
};

}  // namespace kinetograph::profile
