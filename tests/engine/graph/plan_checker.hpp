// An independent checker of plans. It uses the declaration and the documented meaning of a Plan, and no code of the
// compiler: it replays several executions, builds the happens-before relation by brute force, and reports every pair of
// conflicting accesses to the same bytes that nothing orders.
//
// What orders two accesses:
// - waits: everything that a lane was given up to the signalled batch ends before everything that the waiting lane is
//   given from the wait on;
// - barriers: on one lane, an access of kind `before` that precedes the barrier comes before an access of kind `after`
//   that follows it, on the barrier's resource (or, taking over bytes, on the aliased resource);
// - inside one pass, reads of a resource come before its own writes, but without making earlier writes visible to them.
#pragma once

#include <kinetograph/engine/graph/plan.hpp>

namespace kinetograph::graph {

/// Everything that is wrong with `plan`, one sentence each; with `first_only` at most one.
std::vector<std::string> check_plan(const FrameGraph& frame, const Plan& plan, bool first_only = false);

}  // namespace kinetograph::graph
