// DurationSketch: percentiles of any number of durations in bounded memory, each within 1/128 of its value.
#pragma once

#include <kinetograph/engine/base/clock.hpp>

#include <cstdint>
#include <vector>

namespace kinetograph::profile {

/// A histogram whose buckets are 1/64 of a power of two wide; below 128 ns they are one nanosecond wide. Memory: four
/// bytes for every bucket between the smallest and the largest duration, 15 KiB at most. Negative durations count as 0.
/// Source: the bucket layout of HdrHistogram (Tene).
class DurationSketch {
  public:
    void add(Nanoseconds duration);

    std::uint64_t count() const { return count_; }
    Nanoseconds min() const { return min_; }  ///< exact, as are max, mean and deviation; 0 while empty
    Nanoseconds max() const { return max_; }
    Nanoseconds mean() const;
    double total() const { return mean_ * static_cast<double>(count_); }  ///< nanoseconds
    double deviation() const;  ///< of one duration, nanoseconds; 0 with fewer than two
    /// The `q`-quantile, `q` in [0, 1], to within 1/128: the smallest recorded duration that at least the fraction `q`
    /// of all durations does not exceed.
    Nanoseconds quantile(double q) const;
    /// How many durations lie in each of `bins` equal parts of the range from min() to max().
    std::vector<std::uint32_t> histogram(std::size_t bins) const;

  private:
    std::uint64_t count_ = 0;
    Nanoseconds min_{}, max_{};
    double mean_ = 0.0, squares_ = 0.0;  // Welford
    std::size_t first_ = 0;              // bucket of counts_[0]
    std::vector<std::uint32_t> counts_;
};

}  // namespace kinetograph::profile
