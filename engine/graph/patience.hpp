// Patience: how long the end of an object waits for its lanes.
#pragma once

#include <kinetograph/engine/graph/lane_state.hpp>

#include <span>
#include <vector>

namespace kinetograph::graph {

/// How long a destructor waits for work that waits for no point known to its lane, while nothing is reached: a device's
/// queue may be blocked for ever. Longer than any batch takes on a device that works.
inline constexpr Nanoseconds kWorkPatience = std::chrono::seconds(30);

/// Used by one wait. Lanes that the host sees execute are waited for as long as they do.
class Patience {
  public:
    explicit Patience(Nanoseconds for_points = kPatience, Nanoseconds for_work = kWorkPatience)
        : for_points_(for_points), for_work_(for_work) {}
    /// True if the lanes have reached nothing, nor the points that they wait for advanced, for `for_points`; or for
    /// `for_work`, if a lane that is not idle waits for none. Asked again and again.
    bool is_over(std::span<const LaneState> lanes);

  private:
    Nanoseconds for_points_, for_work_;
    Nanoseconds moved_ = host_now();
    std::vector<std::uint64_t> values_;  ///< of lanes and points
};

}  // namespace kinetograph::graph
