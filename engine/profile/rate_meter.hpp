// RateMeter: events per second, also if they come in bursts or very rarely.
#pragma once

#include <kinetograph/engine/base/clock.hpp>

#include <deque>

namespace kinetograph::profile {

/// Over the last two seconds, or over the last nine events where those take longer: a slow decoder gives its frames in
/// bursts of four, and the time between the bursts must count.
class RateMeter {
  public:
    void count(Nanoseconds now) {
        times_.push_back(now);
        while (times_.size() > kFewest && now - times_.front() > kWindow) times_.pop_front();
    }
    /// Falls while nothing happens.
    double rate(Nanoseconds now) const {
        if (times_.size() < 2) return 0.0;
        const double seconds = std::chrono::duration<double>(now - times_.front()).count();
        return seconds > 0.0 ? static_cast<double>(times_.size() - 1) / seconds : 0.0;
    }

  private:
    static constexpr Nanoseconds kWindow = std::chrono::seconds(2);
    static constexpr std::size_t kFewest = 9;
    std::deque<Nanoseconds> times_;
};

}  // namespace kinetograph::profile
