#include <kinetograph/engine/graph/lane_state.hpp>

namespace kinetograph::graph {

std::string describe(const LaneState& state) {
    std::string text =
        fmt::format("lane {}: submitted {}, reached {}", to_string(state.lane), state.submitted, state.reached);
    for (const PendingWaits::Wait& wait : state.waits) {
        text += fmt::format("; batch {} waits for value {} of {}, which is at {}", wait.batch, wait.point.value,
                            wait.point.timeline->name(), wait.point.timeline->value());
        if (wait.seen && wait.point.reached())
            text += fmt::format(", and at {} where the device sees it", wait.seen->value());
    }
    if (state.error) text += "; " + state.error->message;
    return text;
}

std::string describe(std::span<const LaneState> states) {
    std::string text;
    for (const LaneState& state : states) text += (text.empty() ? "" : "\n") + describe(state);
    return text;
}

}  // namespace kinetograph::graph
