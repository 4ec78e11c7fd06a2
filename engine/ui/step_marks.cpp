#include <kinetograph/engine/ui/step_marks.hpp>

#include <algorithm>

namespace kinetograph::ui {

const StepMarks& MarkedSteps::of(const profile::Profile& profile, const profile::Step& step,
                                 const profile::PlanFacts& plan, const profile::Spike* spike,
                                 std::span<const ShownStep> shown) {
    const auto [found, is_new] =
        marks_.try_emplace({step.plan, step.execution, step.begin, step.end, step.spans.size(), plan.passes.size()});
    StepMarks& marks = found->second;
    if (!is_new) return marks;
    const profile::StepSurroundings around = spike != nullptr ? spike->around : profile.surroundings(step);
    marks = {hand_overs(step, plan), around.from_others, critical_path(step, plan), spans_of_passes(step, plan),
             idle_gaps(step, plan, profile.recorder().names(), step.length() / 50, around)};
    if (marks_.size() > kMost)
        std::erase_if(marks_, [&](const auto& entry) {
            return &entry.second != &marks &&
                   std::ranges::none_of(shown, [&](const ShownStep& each) { return each.marks == &entry.second; });
        });
    return marks;
}

}  // namespace kinetograph::ui
