#include <kinetograph/engine/graph/patience.hpp>

#include <algorithm>
#include <utility>

namespace kinetograph::graph {

bool Patience::is_over(std::span<const LaneState> lanes) {
    std::vector<std::uint64_t> values;
    bool works = false, executes = false;
    Nanoseconds most = Nanoseconds::max();
    for (const LaneState& lane : lanes) {
        values.push_back(lane.reached);
        for (const PendingWaits::Wait& wait : lane.waits)
            for (const auto& timeline : {wait.point.timeline, wait.seen})
                if (timeline) values.push_back(timeline->value());
        works |= !lane.is_idle() && lane.waits.empty();
        executes |= lane.executes;
        if (!lane.is_idle()) most = std::min(most, lane.patience.value_or(most));
    }
    const Nanoseconds now = host_now();
    if (executes || values != values_) moved_ = now;
    values_ = std::move(values);
    return now - moved_ > std::min(most, works ? for_work_ : for_points_);
}

}  // namespace kinetograph::graph
