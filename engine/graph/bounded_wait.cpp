#include <kinetograph/engine/graph/bounded_wait.hpp>

namespace kinetograph::graph {

Result<void> wait_while_lanes_move(std::string_view what, Nanoseconds patience,
                                   const std::function<std::vector<LaneState>()>& lanes,
                                   const std::function<Result<bool>(Nanoseconds)>& wait) {
    for (Patience left(patience, patience);;) {
        KG_TRY(const bool done, wait(kLook));
        if (done) return {};
        const std::vector<LaneState> states = lanes();
        if (left.is_over(states))
            return fail(ErrorCode::DeviceLost, "waiting for {}: nothing has moved for {:.0f} s:\n{}", what,
                        std::chrono::duration<double>(patience).count(), describe(states));
    }
}

Result<void> wait_until_idle(LaneBackend& lane, std::string_view what, Nanoseconds patience) {
    const std::uint64_t newest = lane.state().submitted;
    return wait_while_lanes_move(
        what, patience, [&] { return std::vector{lane.state()}; },
        [&](Nanoseconds timeout) -> Result<bool> { return lane.timeline()->wait(newest, timeout); });
}

}  // namespace kinetograph::graph
