#include <kinetograph/engine/ui/elide.hpp>
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
        if (draw_summary(*plan)) is_moved_ = false;
        const ImVec2 at = ImGui::GetCursorScreenPos(), available = ImGui::GetContentRegionAvail();
        const ImVec2 size{std::max(available.x, 40.0F), std::max(available.y, 60.0F)};
        lay_out(*plan, size, context.scale);
        ImGui::InvisibleButton("graph", size);
        handle_input(at);
        ImDrawList& list = *ImGui::GetWindowDrawList();
        list.PushClipRect(at, {at.x + size.x, at.y + size.y}, true);
        origin_ = {at.x + pan_.x, at.y + pan_.y};
        draw_edges(context, list, *plan);
        draw_passes(context, list, *plan, at, size);
        draw_culled(list, *plan);
        draw_lanes(context, list, *plan);
        list.PopClipRect();
    }

  private:
    // Pixels at zoom 1: a row for every pass, a column for every lane; the box is in its upper left corner.
    static constexpr float kRow = 24.0F, kColumn = 350.0F, kBoxHeight = 20.0F, kBoxWidth = 290.0F;
    static constexpr float kMostFitted = 1.25F;
    static constexpr std::uint32_t kMostBlocks = 12;
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

    /// Passes from top to bottom in the order of execution, in as many blocks side by side as make them largest. Until
    /// the user moves it, all of it is seen.
    void lay_out(const PlanFacts& plan, ImVec2 size, float scale) {
        lanes_.clear();
        for (const PassFacts& pass : plan.passes)
            if (std::ranges::find(lanes_, pass.track) == lanes_.end()) lanes_.push_back(pass.track);
        columns_ = std::max<std::size_t>(lanes_.size() + (plan.culled.empty() ? 0 : 1), 1);
        const auto passes =
            static_cast<std::uint32_t>(std::max({plan.passes.size(), plan.culled.size(), std::size_t{1}}));
        const float title = ImGui::GetTextLineHeight() + 6;
        float best = 0.0F;
        for (std::uint32_t blocks = 1; blocks <= kMostBlocks; ++blocks) {
            const std::uint32_t rows = (passes + blocks - 1) / blocks;
            const float zoom = std::min((size.x - 16) / (kColumn * static_cast<float>(blocks * columns_)),
                                        (size.y - title - 8) / (kRow * static_cast<float>(rows)));
            if (zoom <= best) continue;
            best = zoom;
            rows_ = rows;
        }
        if (is_moved_) return;
        zoom_ = std::clamp(best, kLeastZoom, kMostFitted * scale);
        pan_ = {8, title};
    }

    void handle_input(ImVec2 at) {
        const ImGuiIO& io = ImGui::GetIO();
        if (ImGui::IsItemActive() && ImGui::IsMouseDragging(ImGuiMouseButton_Left, 2.0F)) {
            pan_.x += io.MouseDelta.x;
            pan_.y += io.MouseDelta.y;
            is_moved_ = true;
        }
        if (!ImGui::IsItemHovered() || io.MouseWheel == 0.0F) return;
        is_moved_ = true;
        const float before = zoom_;
        zoom_ = std::clamp(zoom_ * std::pow(1.2F, io.MouseWheel), kLeastZoom, kMostZoom);
        pan_.x = io.MousePos.x - at.x - (io.MousePos.x - at.x - pan_.x) * zoom_ / before;
        pan_.y = io.MousePos.y - at.y - (io.MousePos.y - at.y - pan_.y) * zoom_ / before;
    }

    ImVec2 corner_of(const PlanFacts& plan, std::uint32_t pass) const {
        return corner_of(static_cast<std::size_t>(std::ranges::find(lanes_, plan.passes[pass].track) - lanes_.begin()),
                         pass);
    }
    ImVec2 corner_of(std::size_t lane, std::uint32_t pass) const {
        const std::size_t column = pass / rows_ * columns_ + lane;
        return {origin_.x + kColumn * zoom_ * static_cast<float>(column),
                origin_.y + kRow * zoom_ * static_cast<float>(pass % rows_)};
    }

    /// Within a lane curves are on the right of the boxes; between lanes and blocks they go from side to side.
    void draw_curve(ImDrawList& list, ImVec2 from, ImVec2 to, float apart, ImU32 color, float thickness) const {
        const float half = kBoxHeight * zoom_ / 2, width = kBoxWidth * zoom_;
        const ImVec2 a{from.x + width, from.y + half};
        const bool is_beside = from.x == to.x;
        const ImVec2 b{is_beside ? to.x + width : to.x, to.y + half};
        const float reach = (is_beside ? std::min(50.0F, 6.0F + 3.0F * apart) : 40.0F) * zoom_;
        list.AddBezierCubic(a, {a.x + reach, a.y}, {is_beside ? b.x + reach : b.x - reach, b.y}, b, color, thickness);
    }

    void draw_edges(const PanelContext& context, ImDrawList& list, const PlanFacts& plan) const {
        const std::uint32_t selected = plan.find(context.selection.pass, context.selection.track);
        for (const bool of_selected : {false, true})  // over the others
            for (const profile::Dependency& each : plan.dependencies) {
                const bool is_near = selected != profile::kNone && (each.from == selected || each.to == selected);
                if (is_near != of_selected) continue;
                const bool crosses = plan.passes[each.from].track != plan.passes[each.to].track;
                const ImU32 color = is_near   ? (each.to == selected ? theme::kGood : theme::kAccent)
                                    : crosses ? theme::kMuted
                                              : theme::kLine;
                draw_curve(list, corner_of(plan, each.from), corner_of(plan, each.to),
                           static_cast<float>(each.to - each.from), color, is_near ? 2.0F : 1.0F);
            }
        for (const profile::BatchFacts& batch : plan.batches)
            for (const profile::BatchFacts::Wait& wait : batch.waits) draw_wait(list, plan, batch, wait);
    }

    void draw_wait(ImDrawList& list, const PlanFacts& plan, const profile::BatchFacts& batch,
                   const profile::BatchFacts::Wait& wait) const {
        if (wait.batch == profile::kNone || wait.executions_ago > 0 || batch.first_pass == profile::kNone) return;
        const std::uint32_t last = plan.batches[wait.batch].last_pass;
        if (last == profile::kNone) return;
        const float half = kBoxHeight * zoom_ / 2;
        const ImVec2 from = corner_of(plan, last), to = corner_of(plan, batch.first_pass);
        const ImVec2 a{from.x + kBoxWidth * zoom_, from.y + half}, b{to.x, to.y + half};
        list.AddLine(a, b, theme::kBad, 1.5F);
        list.AddTriangleFilled(b, {b.x - 6, b.y - 3}, {b.x - 6, b.y + 3}, theme::kBad);
        const std::string cost = human_time(wait.hand_over);
        if (std::abs(b.x - a.x) > width_of(cost) + 8)
            list.AddText({(a.x + b.x - width_of(cost)) / 2, (a.y + b.y) / 2 + 2}, theme::kBad, cost.c_str());
    }

    static std::string resource_of(const PlanFacts& plan, const profile::Dependency& dependency) {
        if (dependency.resource == profile::kNone) return "a resource";
        return fmt::format("{}, version {}", plan.resources[dependency.resource].name, dependency.version);
    }

    void draw_passes(const PanelContext& context, ImDrawList& list, const PlanFacts& plan, ImVec2 at,
                     ImVec2 size) const {
        const ImVec2 mouse = ImGui::GetIO().MousePos;
        for (std::uint32_t i = 0; i < plan.passes.size(); ++i) {
            const ImVec2 low = corner_of(plan, i), high{low.x + kBoxWidth * zoom_, low.y + kBoxHeight * zoom_};
            if (high.x < at.x || low.x > at.x + size.x || high.y < at.y || low.y > at.y + size.y) continue;
            const PassFacts& pass = plan.passes[i];
            const bool is_selected = context.selection.is(pass.name, pass.track);
            list.AddRectFilled(low, high, is_selected ? theme::kSelected : theme::track_color(context.text(pass.track)),
                               3.0F);
            draw_inside(context, list, pass, low, high);
            if (!ImGui::IsItemHovered() || mouse.x < low.x || mouse.x >= high.x || mouse.y < low.y || mouse.y >= high.y)
                continue;
            draw_tip(context, plan, i);
            if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) context.selection.select(pass.name, pass.track, plan.id);
        }
    }

    /// A title over every column of boxes.
    void draw_lanes(const PanelContext& context, ImDrawList& list, const PlanFacts& plan) const {
        const float y = origin_.y - ImGui::GetTextLineHeight() - 4, width = kColumn * zoom_ - 4;
        for (std::uint32_t first = 0; first < plan.passes.size(); first += rows_)
            for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
                list.AddText({corner_of(lane, first).x, y}, theme::kText,
                             elided(context.text(lanes_[lane]), width).c_str());
        if (!plan.culled.empty())
            list.AddText({corner_of(lanes_.size(), 0).x, y}, theme::kMuted, elided("culled", width).c_str());
    }

    /// Where there is room: how many barriers are in front of it, its name, and its median time.
    static void draw_inside(const PanelContext& context, ImDrawList& list, const PassFacts& pass, ImVec2 low,
                            ImVec2 high) {
        const float line = ImGui::GetTextLineHeight(), y = (low.y + high.y - line) / 2;
        if (high.y - low.y < line - 1) return;
        const profile::PassProfile* timed = context.profile.find(pass.name, pass.track);
        const std::string time = timed != nullptr ? human_time(timed->quantile(0.5)) : std::string();
        const float time_width = width_of(time);
        float left = low.x + 4, right = high.x - 4;
        if (right - left > 3 * time_width) {
            list.AddText({right - time_width, y}, theme::kGroundSolid, time.c_str());
            right -= time_width + 8;
        }
        const std::string barriers = pass.barriers > 0 ? fmt::format("{}", pass.barriers) : std::string();
        if (right - left > 60) {
            list.AddText({left, y}, IM_COL32(120, 24, 16, 255), barriers.c_str());
            left += width_of("00") + 6;
        }
        list.AddText({left, y}, theme::kGroundSolid, elided(context.text(pass.name), right - left, Cut::Begin).c_str());
    }

    /// In a column of their own; the reason is under the pointer.
    void draw_culled(ImDrawList& list, const PlanFacts& plan) const {
        const ImVec2 mouse = ImGui::GetIO().MousePos;
        const float line = ImGui::GetTextLineHeight();
        for (std::uint32_t i = 0; i < plan.culled.size(); ++i) {
            const ImVec2 low = corner_of(lanes_.size(), i);
            const ImVec2 high{low.x + kBoxWidth * zoom_, low.y + kBoxHeight * zoom_};
            list.AddRect(low, high, theme::kMuted, 3.0F);
            if (high.y - low.y >= line - 1)
                list.AddText({low.x + 4, (low.y + high.y - line) / 2}, theme::kMuted,
                             elided(plan.culled[i].name, high.x - low.x - 8, Cut::Begin).c_str());
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
    std::uint32_t rows_ = 1;   // of a block
    std::size_t columns_ = 1;  // of a block
    bool is_moved_ = false;    // by the user: no longer fitted
};

}  // namespace

std::unique_ptr<Panel> make_graph_panel() { return std::make_unique<GraphPanel>(); }

}  // namespace kinetograph::ui
