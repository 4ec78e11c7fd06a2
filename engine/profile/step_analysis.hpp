// What one execution of a graph did with its time: hand-overs, idle gaps, the critical path.
#pragma once

#include <kinetograph/engine/profile/graph_waits.hpp>

#include <functional>
#include <string>
#include <vector>

namespace kinetograph::profile {

/// One execution of a plan: its spans, by begin.
struct Step {
    PlanId plan = kNoPlan;
    std::uint64_t execution = 0;
    StepKey key() const { return {plan, execution}; }
    Nanoseconds begin{}, end{};
    std::vector<SpanRecord> spans;
    Nanoseconds length() const { return end - begin; }
    void add(const SpanRecord& span);
};

/// [pass of the plan] -> its span in `step`, or kNone.
std::vector<std::uint32_t> spans_of_passes(const Step& step, const PlanFacts& plan);

/// One batch waited for another of the same execution: from the last pass of that to the first of its own.
struct HandOver {
    std::uint32_t from = kNone, to = kNone;  ///< Step::spans
    Nanoseconds took{};                      ///< from the end of `from` to the begin of `to`; 0 if that began before
};
std::vector<HandOver> hand_overs(const Step& step, const PlanFacts& plan);

/// One batch waited for a batch of another step, most often of another graph: of the decoder, where this is the
/// display's.
struct StepHandOver {
    SpanRecord from;           ///< the last pass there, or the span that stands for its batch
    std::uint32_t to = kNone;  ///< Step::spans: the first one here
    Nanoseconds took{};        ///< from the end of `from` to the begin of `to`; 0 if that began before
};

/// What was beside a step.
struct StepSurroundings {
    std::vector<StepHandOver> from_others;
    struct Reached {
        NameId track = 0;
        Nanoseconds time{};
    };
    std::vector<Reached> free_since;  ///< of the step's tracks: the end of what ran there before it
};

/// Where other steps are looked up.
struct StepIndex {
    std::function<const Step*(StepKey)> step;  ///< null: not there
    std::function<std::shared_ptr<const PlanFacts>(PlanId)> plan;
};
/// Those of `waits`, which are the step's, between two tracks whose other step is there.
std::vector<StepHandOver> hand_overs_from_others(const Step& step, const PlanFacts& plan,
                                                 std::span<const GraphWait> waits, const StepIndex& others);

/// A time in which a track had nothing of the step to run, between its first and its last pass; before the first one
/// if that waited for another step.
struct IdleGap {
    NameId track = 0;
    Nanoseconds begin{}, end{};
    /// "waiting for picture (graphics)", "waiting for step 12 of plan 1: conv_out (accelerator)", "between passes",
    /// "not submitted yet"
    std::string reason;
};
/// Those of at least `shortest`, by begin.
std::vector<IdleGap> idle_gaps(const Step& step, const PlanFacts& plan, const NameTable& names, Nanoseconds shortest,
                               const StepSurroundings& around = {});

/// The chain of spans that the step's end hangs on, by begin: from the last one back to that which ended latest among
/// what it needs, what its batch waits for, and what its track ran before.
std::vector<std::uint32_t> critical_path(const Step& step, const PlanFacts& plan);

}  // namespace kinetograph::profile
