// StepMarks: what a timeline draws at the steps in the picture, computed once for each.
#pragma once

#include <kinetograph/engine/profile/profile.hpp>

#include <compare>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace kinetograph::ui {

struct StepMarks {
    std::vector<profile::HandOver> waits;
    std::vector<profile::StepHandOver> from_others;  ///< of other graphs
    std::vector<std::uint32_t> critical, span_of_pass;
    std::vector<profile::IdleGap> gaps;
};

/// A step in the picture.
struct ShownStep {
    const profile::Step* step = nullptr;
    std::shared_ptr<const profile::PlanFacts> plan;
    const StepMarks* marks = nullptr;  ///< null: too short to be marked
};

/// The marks of the newest steps that were asked for.
class MarkedSteps {
  public:
    /// Of a step of `plan`, kept as long as `shown` refers to them. `spike`: null, or the kept step that it is of.
    const StepMarks& of(const profile::Profile& profile, const profile::Step& step, const profile::PlanFacts& plan,
                        const profile::Spike* spike, std::span<const ShownStep> shown);

  private:
    /// Marks are indices of spans and passes, and execution numbers may repeat in another run of the same graph, so the
    /// key holds everything that distinguishes two steps, and their numbers of spans and passes.
    struct Key {
        profile::PlanId plan = profile::kNoPlan;
        std::uint64_t execution = 0;
        Nanoseconds begin{}, end{};
        std::size_t spans = 0, passes = 0;
        auto operator<=>(const Key&) const = default;
    };
    static constexpr std::size_t kMost = 64;

    std::map<Key, StepMarks> marks_;
};

}  // namespace kinetograph::ui
