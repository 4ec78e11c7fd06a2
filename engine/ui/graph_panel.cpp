#include <kinetograph/engine/ui/human_units.hpp>
#include <kinetograph/engine/ui/panels.hpp>
#include <kinetograph/engine/ui/plan_choice.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <fmt/core.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>

namespace kinetograph::ui {
namespace {

using profile::PassFacts;
using profile::PlanFacts;

class GraphPanel final : public Panel {
  public:
    std::string_view name() const override { return "Graph"; }

    void draw(const PanelContext& context) override {
        const auto plan = choose_plan(context);
        if (plan == nullptr) return;
        draw_summary(*plan);
        place(*plan);
        const ImVec2 at = ImGui::GetCursorScreenPos(), available = ImGui::GetContentRegionAvail();
        const ImVec2 size{std::max(available.x, 40.0F), std::max(available.y, 60.0F)};
        ImGui::InvisibleButton("graph", size);
        handle_input(at);
        ImDrawList& list = *ImGui::GetWindowDrawList();
        list.PushClipRect(at, {at.x + size.x, at.y + size.y}, true);
        origin_ = {at.x + pan_.x, at.y + pan_.y};
        draw_edges(context, list, *plan);
        draw_passes(context, list, *plan, at, size);
        list.PopClipRect();
    }

  private:
    static constexpr float kStep = 34.0F, kLane = 90.0F, kBox = 26.0F;

    static void draw_summary(const PlanFacts& plan) {
        std::uint32_t barriers = 0, waits = 0;
        for (const PassFacts& pass : plan.passes) barriers += pass.barriers;
        for (const profile::BatchFacts& batch : plan.batches) waits += static_cast<std::uint32_t>(batch.waits.size());
        ImGui::TextUnformatted(fmt::format("{} barriers, {} batches, {} waits; hand-overs cost about {} a step",
                                           barriers, plan.batches.size(), waits, human_time(plan.hand_over_cost))
                                   .c_str());
        if (plan.culled.empty()) return;
        if (!ImGui::TreeNode("culled", "%zu culled: they reach no output", plan.culled.size())) return;
        for (const std::string& pass : plan.culled) ImGui::BulletText("%s", pass.c_str());
        ImGui::TreePop();
    }

    /// A row for every lane, in the order in which passes first run there.
    void place(const PlanFacts& plan) {
        lanes_.clear();
        for (const PassFacts& pass : plan.passes)
            if (std::ranges::find(lanes_, pass.track) == lanes_.end()) lanes_.push_back(pass.track);
    }

    void handle_input(ImVec2 at) {
        const ImGuiIO& io = ImGui::GetIO();
        if (ImGui::IsItemActive() && ImGui::IsMouseDragging(ImGuiMouseButton_Left, 2.0F)) {
            pan_.x += io.MouseDelta.x;
            pan_.y += io.MouseDelta.y;
        }
        if (!ImGui::IsItemHovered() || io.MouseWheel == 0.0F) return;
        const float before = zoom_;
        zoom_ = std::clamp(zoom_ * std::pow(1.2F, io.MouseWheel), 0.05F, 4.0F);
        pan_.x = io.MousePos.x - at.x - (io.MousePos.x - at.x - pan_.x) * zoom_ / before;
        pan_.y = io.MousePos.y - at.y - (io.MousePos.y - at.y - pan_.y) * zoom_ / before;
    }

    ImVec2 corner_of(const PlanFacts& plan, std::uint32_t pass) const {
        const auto lane = static_cast<float>(std::ranges::find(lanes_, plan.passes[pass].track) - lanes_.begin());
        return {origin_.x + kStep * zoom_ * static_cast<float>(pass), origin_.y + 24 + kLane * zoom_ * lane};
    }

    void draw_edges(const PanelContext& context, ImDrawList& list, const PlanFacts& plan) const {
        const float half = kBox * zoom_ / 2;
        const std::uint32_t selected = plan.find(context.selection.pass, context.selection.track);
        for (const profile::Dependency& each : plan.dependencies) {
            const ImVec2 a = corner_of(plan, each.from), b = corner_of(plan, each.to);
            const bool is_near = each.from == selected || each.to == selected;
            const bool crosses = plan.passes[each.from].track != plan.passes[each.to].track;
            const ImU32 color = is_near   ? (each.to == selected ? theme::kGood : theme::kAccent)
                                : crosses ? theme::kMuted
                                          : theme::kLine;
            const float rise = std::min(30.0F, 6.0F * static_cast<float>(each.to - each.from)) * zoom_;
            list.AddBezierCubic({a.x + half, a.y}, {a.x + half, a.y - rise}, {b.x + half, b.y - rise},
                                {b.x + half, b.y}, color, is_near ? 2.0F : 1.0F);
        }
        for (const profile::BatchFacts& batch : plan.batches)
            for (const profile::BatchFacts::Wait& wait : batch.waits) {
                if (wait.batch == profile::kNone || wait.executions_ago > 0 || batch.first_pass == profile::kNone)
                    continue;
                const std::uint32_t last = plan.batches[wait.batch].last_pass;
                if (last == profile::kNone) continue;
                const ImVec2 a = corner_of(plan, last), b = corner_of(plan, batch.first_pass);
                list.AddLine({a.x + 2 * half, a.y + half}, {b.x, b.y + half}, theme::kBad, 1.5F);
                if (zoom_ > 0.6F)
                    list.AddText({(a.x + b.x) / 2 + half, (a.y + b.y) / 2 + half}, theme::kBad,
                                 human_time(wait.hand_over).c_str());
            }
    }

    void draw_passes(const PanelContext& context, ImDrawList& list, const PlanFacts& plan, ImVec2 at,
                     ImVec2 size) const {
        const ImVec2 mouse = ImGui::GetIO().MousePos;
        const float box = kBox * zoom_;
        for (std::uint32_t i = 0; i < plan.passes.size(); ++i) {
            const ImVec2 low = corner_of(plan, i), high{low.x + box, low.y + box};
            if (high.x < at.x || low.x > at.x + size.x) continue;
            const PassFacts& pass = plan.passes[i];
            list.AddRectFilled(low, high, theme::track_color(context.text(pass.track)), 3.0F);
            if (context.selection.is(pass.name, pass.track)) list.AddRect(low, high, theme::kText, 3.0F, 0, 2.0F);
            if (pass.barriers > 0 && zoom_ > 0.6F)
                list.AddText({low.x + 3, low.y + 2}, theme::kGroundSolid, fmt::format("{}", pass.barriers).c_str());
            if (!ImGui::IsItemHovered() || mouse.x < low.x || mouse.x >= high.x || mouse.y < low.y || mouse.y >= high.y)
                continue;
            draw_tip(context, plan, i);
            if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) context.selection = {pass.name, pass.track, plan.id};
        }
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            const std::string_view lane = context.text(lanes_[i]);
            list.AddText({at.x + 4, origin_.y + 4 + kLane * zoom_ * static_cast<float>(i)}, theme::kMuted, lane.data(),
                         lane.data() + lane.size());
        }
    }

    static void draw_tip(const PanelContext& context, const PlanFacts& plan, std::uint32_t index) {
        const PassFacts& pass = plan.passes[index];
        std::string text = fmt::format("{} on {}\n{} barriers in front", context.text(pass.name),
                                       context.text(pass.track), pass.barriers);
        const auto resource = [&](const profile::Dependency& each) {
            return each.resource != profile::kNone ? plan.resources[each.resource].name : std::string("a resource");
        };
        for (const profile::Dependency& each : plan.dependencies) {
            if (each.to == index)
                text += fmt::format("\nneeds {} of {}", resource(each), context.text(plan.passes[each.from].name));
            if (each.from == index)
                text += fmt::format("\nmakes {} for {}", resource(each), context.text(plan.passes[each.to].name));
        }
        ImGui::SetTooltip("%s", text.c_str());
    }

    std::vector<profile::NameId> lanes_;
    ImVec2 pan_{8, 20}, origin_{};
    float zoom_ = 1.0F;
};

}  // namespace

std::unique_ptr<Panel> make_graph_panel() { return std::make_unique<GraphPanel>(); }

}  // namespace kinetograph::ui
