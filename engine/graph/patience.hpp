// Patience: how long the end of an object waits for its lanes.
#pragma once

#include <kinetograph/engine/graph/lane_state.hpp>

#include <span>
#include <vector>

namespace kinetograph::graph {

/// How long a destructor waits, while no value is reached, for work whose lane waits for no point that it knows of: a
/// device's queue may be blocked for ever. Longer than any batch takes on a working device.
inline constexpr Nanoseconds kWorkPatience = std::chrono::seconds(30);

/// One object serves one wait. Lanes that run a pass on a host thread are waited for as long as they do.
class Patience {
  public:
    explicit Patience(Nanoseconds for_points = kPatience, Nanoseconds for_work = kWorkPatience)
        : for_points_(for_points), for_work_(for_work) {}
    /// True if for too long no lane has reached a value and no timeline that a lane waits for has advanced: for
    /// `for_points`, or for `for_work` while a lane that is not idle waits for no point; for no longer than the
    /// patience that a lane that is not idle states. To be polled.
    bool is_over(std::span<const LaneState> lanes);

  private:
    Nanoseconds for_points_, for_work_;
    Nanoseconds moved_ = host_now();
    std::vector<std::uint64_t> values_;  ///< of lanes and points
};

}  // namespace kinetograph::graph
