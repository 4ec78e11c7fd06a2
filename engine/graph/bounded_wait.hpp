// Host waits that fail once the lanes that they depend on make no more progress.
#pragma once

#include <kinetograph/engine/graph/executor.hpp>
#include <kinetograph/engine/graph/patience.hpp>

#include <functional>
#include <string_view>

namespace kinetograph::graph {

/// Calls `wait` with time-outs until it returns true. Errors: those of `wait`; DeviceLost, with the states of `lanes`,
/// once none of these has moved for `patience`. Its sentence says that it was waiting for `what`.
Result<void> wait_while_lanes_move(std::string_view what, Nanoseconds patience,
                                   const std::function<std::vector<LaneState>()>& lanes,
                                   const std::function<Result<bool>(Nanoseconds)>& wait);

/// Waits until the lane has reached every value that it was given; a lost lane reaches them too. Errors: DeviceLost, as
/// above.
Result<void> wait_until_idle(LaneBackend& lane, std::string_view what, Nanoseconds patience = kWorkPatience);

}  // namespace kinetograph::graph
