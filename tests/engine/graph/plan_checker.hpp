// An independent judge of plans. Knows the declaration and what the words of a Plan promise, nothing of the compiler:
// it replays several executions, builds what happens before what by brute force, and reports every pair of accesses to
// the same bytes that nothing keeps apart.
//
// What keeps two accesses apart:
// - waits: a wait sees the end of all that its lane had been given up to the signalled batch; all that is given to the
//   waiting lane from then on comes later;
// - barriers: on one lane, an access of kind `before` that precedes the barrier comes before an access of kind `after`
//   that follows it, on the barrier's resource (or, taking over bytes, on the aliased resource);
// - inside one pass, reads of a resource come before its own writes, but without making earlier writes visible to them.
#pragma once

#include <kinetograph/engine/graph/plan.hpp>

namespace kinetograph::graph {

/// Everything that is wrong with `plan`, one sentence each; with `first_only` at most one.
std::vector<std::string> check_plan(const FrameGraph& frame, const Plan& plan, bool first_only = false);

}  // namespace kinetograph::graph
