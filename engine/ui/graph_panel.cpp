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
        const bool fits = draw_summary(*plan);
        place(*plan);
        const ImVec2 at = ImGui::GetCursorScreenPos(), available = ImGui::GetContentRegionAvail();
        const ImVec2 size{std::max(available.x, 40.0F), std::max(available.y, 60.0F)};
        ImGui::InvisibleButton("graph", size);
        if (fits) fit(*plan, size);
        handle_input(at);
        ImDrawList& list = *ImGui::GetWindowDrawList();
        list.PushClipRect(at, {at.x + size.x, at.y + size.y}, true);
        origin_ = {at.x + pan_.x, at.y + pan_.y};
        draw_edges(context, list, *plan);
        draw_passes(context, list, *plan, at, size);
        draw_culled(list, *plan);
        list.PopClipRect();
    }

  private:
    static constexpr float kStep = 34.0F, kLane = 90.0F, kBox = 26.0F;
    static constexpr float kLeastZoom = 0.05F, kMostZoom = 6.0F;

    /// True: everything shall be seen at once.
    static bool draw_summary(const PlanFacts& plan) {
        std::uint32_t barriers = 0, waits = 0;
        for (const PassFacts& pass : plan.passes) barriers += pass.barriers;
        for (const profile::BatchFacts& batch : plan.batches) waits += static_cast<std::uint32_t>(batch.waits.size());
        ImGui::SameLine();
        const bool fits = ImGui::SmallButton("fit");
        ImGui::TextUnformatted(
            fmt::format("{} barriers, {} batches, {} waits, {} culled; hand-overs cost about {} a step", barriers,
                        plan.batches.size(), waits, plan.culled.size(), human_time(plan.hand_over_cost))
                .c_str());
        return fits;
    }

    void fit(const PlanFacts& plan, ImVec2 size) {
        const std::size_t across = std::max({plan.passes.size(), plan.culled.size(), std::size_t{1}});
        const std::size_t down = lanes_.size() + (plan.culled.empty() ? 0 : 1);
        zoom_ = std::clamp(std::min((size.x - 16) / (kStep * static_cast<float>(across)),
                                    (size.y - 48) / (kLane * static_cast<float>(std::max<std::size_t>(down, 1)))),
                           kLeastZoom, kMostZoom);
        pan_ = {8, 20};
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
        zoom_ = std::clamp(zoom_ * std::pow(1.2F, io.MouseWheel), kLeastZoom, kMostZoom);
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
            if (is_near) draw_label(list, {(a.x + b.x) / 2 + half, std::min(a.y, b.y) - rise}, color, plan, each);
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

    /// What is handed over between two passes, beside the curve.
    static void draw_label(ImDrawList& list, ImVec2 at, ImU32 color, const PlanFacts& plan,
                           const profile::Dependency& dependency) {
        const std::string text = resource_of(plan, dependency);
        const float width = ImGui::CalcTextSize(text.c_str()).x;
        list.AddText({at.x - width / 2, at.y - ImGui::GetTextLineHeight() / 2}, color, text.c_str());
    }

    static std::string resource_of(const PlanFacts& plan, const profile::Dependency& dependency) {
        if (dependency.resource == profile::kNone) return "a resource";
        return fmt::format("{}, version {}", plan.resources[dependency.resource].name, dependency.version);
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
            draw_inside(list, context.text(pass.name), pass.barriers, low, high);
            if (!ImGui::IsItemHovered() || mouse.x < low.x || mouse.x >= high.x || mouse.y < low.y || mouse.y >= high.y)
                continue;
            draw_tip(context, plan, i);
            if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) context.selection.select(pass.name, pass.track, plan.id);
        }
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            const std::string_view lane = context.text(lanes_[i]);
            list.AddText({at.x + 4, origin_.y + 4 + kLane * zoom_ * static_cast<float>(i)}, theme::kMuted, lane.data(),
                         lane.data() + lane.size());
        }
    }

    /// The number of barriers, and the name where there is room.
    static void draw_inside(ImDrawList& list, std::string_view name, std::uint32_t barriers, ImVec2 low, ImVec2 high) {
        const float line = ImGui::GetTextLineHeight();
        if (high.y - low.y < line) return;
        list.PushClipRect(low, high, true);
        if (barriers > 0)
            list.AddText({low.x + 3, low.y + 1}, theme::kGroundSolid, fmt::format("{}", barriers).c_str());
        if (high.y - low.y > 2.5F * line)
            list.AddText(ImGui::GetFont(), ImGui::GetFontSize(), {low.x + 3, high.y - line - 2}, theme::kGroundSolid,
                         name.data(), name.data() + name.size(), high.x - low.x);
        list.PopClipRect();
    }

    /// In a row of their own below the lanes; the reason is under the pointer.
    void draw_culled(ImDrawList& list, const PlanFacts& plan) const {
        if (plan.culled.empty()) return;
        const ImVec2 mouse = ImGui::GetIO().MousePos;
        const float top = origin_.y + 24 + kLane * zoom_ * static_cast<float>(lanes_.size()), box = kBox * zoom_;
        list.AddText({origin_.x, top - 20}, theme::kMuted, "culled");
        for (std::size_t i = 0; i < plan.culled.size(); ++i) {
            const ImVec2 low{origin_.x + kStep * zoom_ * static_cast<float>(i), top}, high{low.x + box, low.y + box};
            list.AddRect(low, high, theme::kMuted, 3.0F);
            if (ImGui::IsItemHovered() && mouse.x >= low.x && mouse.x < high.x && mouse.y >= low.y && mouse.y < high.y)
                ImGui::SetTooltip("%s is culled:\n%s", plan.culled[i].name.c_str(), plan.culled[i].reason.c_str());
        }
    }

    static void draw_tip(const PanelContext& context, const PlanFacts& plan, std::uint32_t index) {
        const PassFacts& pass = plan.passes[index];
        std::string text = fmt::format("{} on {}\n{} barriers in front", context.text(pass.name),
                                       context.text(pass.track), pass.barriers);
        for (const profile::Dependency& each : plan.dependencies) {
            if (each.to == index)
                text +=
                    fmt::format("\nneeds {} of {}", resource_of(plan, each), context.text(plan.passes[each.from].name));
            if (each.from == index)
                text +=
                    fmt::format("\nmakes {} for {}", resource_of(plan, each), context.text(plan.passes[each.to].name));
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
