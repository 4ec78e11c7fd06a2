#include <kinetograph/engine/ui/timeline_tips.hpp>

#include <kinetograph/engine/ui/human_units.hpp>

#include <fmt/core.h>

#include <algorithm>

namespace kinetograph::ui {

std::string tip_of_wait(const PanelContext& context, const profile::SpanRecord& from, const profile::SpanRecord& to,
                        Nanoseconds took, Nanoseconds expected) {
    return fmt::format(
        "{} on {} waited for {} on {}\nand began {} after that had ended; a hand-over is expected to cost "
        "{}",
        context.text(to.name), context.text(to.track), context.text(from.name), context.text(from.track),
        human_time(took), human_time(expected));
}

std::string tip_of_dependency(const PanelContext& context, const profile::PlanFacts& plan,
                              const profile::Dependency& each) {
    const std::string_view from = context.text(plan.passes[each.from].name),
                           to = context.text(plan.passes[each.to].name);
    if (each.resource == profile::kNone) return fmt::format("{} needs what {} writes", to, from);
    const profile::ResourceFacts& resource = plan.resources[each.resource];
    return fmt::format("{} needs {} of {}\n{}, version {}", to, resource.name, from, human_bytes(resource.bytes),
                       each.version);
}

std::string tip_of_step(const PanelContext& context, const profile::Step& step) {
    const auto& all = context.profile.steps();
    const auto of_plan = std::ranges::find(all, step.plan, &profile::PlanSteps::plan);
    std::string text = fmt::format("step {} of plan {}: {} passes in {}", step.execution, step.plan, step.spans.size(),
                                   human_time(step.length()));
    if (of_plan != all.end() && of_plan->later.count() > 0)
        text += fmt::format("\nhalf of {} steps take no longer than {}", of_plan->later.count(),
                            human_time(of_plan->later.quantile(0.5)));
    return text;
}

std::string tip_of_frame(const profile::FrameTimes& frame) {
    return fmt::format("frame {} was shown here{}\ndecode {}, queue {}, present {}", frame.index,
                       frame.late ? ", too late" : "", human_time(frame.decode), human_time(frame.queued),
                       human_time(frame.present));
}

std::string tip_of_span(const PanelContext& context, const profile::SpanRecord& span) {
    const profile::PassProfile* pass = context.profile.find(span.name, span.track);
    const std::string_view name = context.text(span.name), track = context.text(span.track);
    std::string text = fmt::format("{} on {}\n{}", name, track, human_time(span.length()));
    if (pass != nullptr) text += fmt::format(", median {}", human_time(pass->quantile(0.5)));
    text += fmt::format("\nstep {}", span.execution);
    const auto facts = pass != nullptr ? context.profile.facts(*pass) : nullptr;
    if (facts != nullptr && !facts->kernel.empty()) text += fmt::format("\n{}: {}", facts->kernel, facts->reason);
    return text;
}

std::string tip_of_lane(const PanelContext& context, profile::NameId lane, const profile::TrackClock* clock) {
    if (clock == nullptr) return fmt::format("{}\nstamped by the host's clock", context.text(lane));
    return fmt::format("{}\nits clock is known to \u00b1{}; it drifts by {:.2f} ppm", context.text(lane),
                       human_time(clock->error), clock->drift_ppm);
}

}  // namespace kinetograph::ui
