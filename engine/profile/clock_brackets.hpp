// ClockBrackets: readings of a device clock from the work that it stamps, where both clocks cannot be read together.
#pragma once

#include <kinetograph/engine/profile/clock_regression.hpp>

namespace kinetograph::profile {

/// The device stamps a piece of work after its submission and before the host sees it done. Both ends bound the offset
/// between the clocks:
///
///     submitted - first  <=  host - device  <=  done - last
///
/// Over kInterval the closest bounds, which may be of different pieces of work, make one reading for the regression.
/// Work that ran at once gives close lower bounds, work that the host was waiting for gives close upper ones.
class ClockBrackets {
  public:
    static constexpr Nanoseconds kInterval = std::chrono::milliseconds(250);

    explicit ClockBrackets(ClockRegression& regression) : regression_(regression) {}

    /// `first` was stamped after `submitted`, `last` before `done`; all of one piece of work.
    void add(std::uint64_t first, Nanoseconds submitted, std::uint64_t last, Nanoseconds done);

  private:
    void hand_over();

    ClockRegression& regression_;
    bool is_open_ = false;
    Nanoseconds began_{};       ///< host time of the interval's first bound
    std::uint64_t origin_ = 0;  ///< ticks from which it is counted
    std::uint64_t newest_ = 0;  ///< newest stamp of it
    Nanoseconds newest_done_{};
    double least_ = 0.0, most_ = 0.0;  ///< of host - nominal device time since origin_, nanoseconds after began_
};

}  // namespace kinetograph::profile
