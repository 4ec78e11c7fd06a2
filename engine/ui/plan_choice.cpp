#include <kinetograph/engine/ui/plan_choice.hpp>

#include <kinetograph/engine/ui/elide.hpp>
#include <kinetograph/engine/ui/lines.hpp>

#include <fmt/core.h>
#include <imgui.h>

namespace kinetograph::ui {
namespace {

std::string title_of(const PanelContext& context, const profile::PlanFacts& plan) {
    if (plan.passes.empty()) return fmt::format("plan {}, empty", plan.id);
    return fmt::format("plan {}: {} passes from {}", plan.id, plan.passes.size(),
                       context.text(plan.passes.front().name));
}

}  // namespace

std::shared_ptr<const profile::PlanFacts> choose_plan(const PanelContext& context) {
    const auto plans = context.profile.recorder().plans().all();
    std::shared_ptr<const profile::PlanFacts> chosen, largest;
    for (const auto& plan : plans) {
        if (plan->id == context.selection.plan) chosen = plan;
        if (largest == nullptr || plan->passes.size() > largest->passes.size()) largest = plan;
    }
    if (chosen == nullptr) chosen = largest;
    if (chosen == nullptr) {
        draw_muted_line("no graph has run yet");
        return nullptr;
    }
    const float width = ImGui::GetContentRegionAvail().x * 0.6F;
    const float text = width - ImGui::GetFrameHeight() - 2 * ImGui::GetStyle().FramePadding.x;
    ImGui::SetNextItemWidth(width);
    if (ImGui::BeginCombo("##plan", elided(title_of(context, *chosen), text).c_str())) {
        for (const auto& plan : plans)
            if (ImGui::Selectable(title_of(context, *plan).c_str(), plan == chosen)) context.selection.plan = plan->id;
        ImGui::EndCombo();
    }
    return chosen;
}

const profile::PlanSteps* choose_steps(const PanelContext& context) {
    const profile::PlanSteps* chosen = nullptr;
    std::size_t most = 0;
    for (const profile::PlanSteps& steps : context.profile.steps()) {
        if (steps.plan == context.selection.plan) return &steps;
        const auto plan = context.profile.plan(steps.plan);
        if (plan == nullptr || plan->passes.size() <= most) continue;
        chosen = &steps;
        most = plan->passes.size();
    }
    return chosen;
}

}  // namespace kinetograph::ui
