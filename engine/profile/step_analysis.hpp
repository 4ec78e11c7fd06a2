// What one execution of a graph did with its time: hand-overs, idle gaps, the critical path.
#pragma once

#include <kinetograph/engine/profile/recorder.hpp>

#include <string>
#include <vector>

namespace kinetograph::profile {

/// One execution of a plan: its spans, by begin.
struct Step {
    PlanId plan = kNoPlan;
    std::uint64_t execution = 0;
    Nanoseconds begin{}, end{};
    std::vector<SpanRecord> spans;
    Nanoseconds length() const { return end - begin; }
    void add(const SpanRecord& span);
};

/// [pass of the plan] -> its span in `step`, or kNone.
std::vector<std::uint32_t> spans_of_passes(const Step& step, const PlanFacts& plan);

/// One batch waited for another of the same execution: from the last pass there to the first one here.
struct HandOver {
    std::uint32_t from = kNone, to = kNone;  ///< Step::spans
    Nanoseconds took{};                      ///< from the end of `from` to the begin of `to`; 0 if that began before
};
std::vector<HandOver> hand_overs(const Step& step, const PlanFacts& plan);

/// A time in which a track had nothing of the step to run, between its first and its last pass.
struct IdleGap {
    NameId track = 0;
    Nanoseconds begin{}, end{};
    std::string reason;  ///< "waiting for picture (graphics)", "between passes", "not submitted yet"
};
/// Those of at least `shortest`, by begin.
std::vector<IdleGap> idle_gaps(const Step& step, const PlanFacts& plan, const NameTable& names, Nanoseconds shortest);

/// The chain of spans that the step's end hangs on, by begin: from the last one back to that which ended latest among
/// what it needs, what its batch waits for, and what its track ran before.
std::vector<std::uint32_t> critical_path(const Step& step, const PlanFacts& plan);

}  // namespace kinetograph::profile
