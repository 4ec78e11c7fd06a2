// LaneState: how far a lane has come and what it waits for, for people and for watchdogs.
#pragma once

#include <kinetograph/engine/graph/handles.hpp>
#include <kinetograph/engine/graph/pending_waits.hpp>

#include <span>
#include <string>

namespace kinetograph::graph {

struct LaneState {
    Lane lane = Lane::Host;
    std::uint64_t submitted = 0, reached = 0;  ///< values of its timeline
    std::vector<PendingWaits::Wait> waits{};   ///< of unfinished batches, not yet satisfied
    std::optional<Error> error{};              ///< why it has stopped
    bool executes = false;  ///< a host thread runs one of its passes now; always false for passes on a GPU
    std::optional<Nanoseconds> patience{};  ///< how long it is waited for while it stands still, if less than usual
    bool is_idle() const { return reached >= submitted; }
};

/// "lane graphics: submitted 12, reached 9; batch 10 waits for value 31 of lane accelerator, which is at 30"
std::string describe(const LaneState& state);
/// One line for each lane.
std::string describe(std::span<const LaneState> states);

}  // namespace kinetograph::graph
