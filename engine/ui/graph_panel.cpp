#include <kinetograph/engine/ui/elide.hpp>
#include <kinetograph/engine/ui/human_units.hpp>
#include <kinetograph/engine/ui/lines.hpp>
#include <kinetograph/engine/ui/panels.hpp>
#include <kinetograph/engine/ui/plan_choice.hpp>
#include <kinetograph/engine/ui/pointer.hpp>
#include <kinetograph/engine/ui/table.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <fmt/core.h>
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace kinetograph::ui {
namespace {

using profile::PassFacts;
using profile::PlanFacts;

/// A pass of the plan, in the list beside the graph.
struct ListedPass : TableRow {
    std::uint32_t index = 0, barriers = 0, needs = 0, makes = 0;
    Nanoseconds median{};
};

constexpr std::array kListColumns{
    Column<ListedPass>{"pass", "its name, with its lane's colour"},
    Column<ListedPass>{"order", "its place in the order of execution",
                       [](const ListedPass& row) { return static_cast<double>(row.index); },
                       [](const ListedPass& row) { return fmt::format("{}", row.index + 1); }},
    Column<ListedPass>{"p50", "the median of its calls but the first: half took no longer",
                       [](const ListedPass& row) { return sort_key(row.median); },
                       [](const ListedPass& row) { return human_time(row.median); }},
    Column<ListedPass>{"needs", "how many dependencies end here",
                       [](const ListedPass& row) { return static_cast<double>(row.needs); },
                       [](const ListedPass& row) { return fmt::format("{}", row.needs); }},
    Column<ListedPass>{"makes", "how many dependencies begin here",
                       [](const ListedPass& row) { return static_cast<double>(row.makes); },
                       [](const ListedPass& row) { return fmt::format("{}", row.makes); }},
    Column<ListedPass>{"barriers", "in front of it",
                       [](const ListedPass& row) { return static_cast<double>(row.barriers); },
                       [](const ListedPass& row) { return fmt::format("{}", row.barriers); }},
};

class GraphPanel final : public Panel {
  public:
    std::string_view name() const override { return "Graph"; }

    void draw(const PanelContext& context) override {
        const auto plan = choose_plan(context);
        if (plan == nullptr) return;
        if (draw_summary(context, *plan)) is_moved_ = false;
        const ImVec2 at = ImGui::GetCursorScreenPos(), available = ImGui::GetContentRegionAvail();
        const ImVec2 size{std::max(available.x * (is_listed_ ? kGraphsPart : 1.0F), 40.0F),
                          std::max(available.y, 60.0F)};
        lay_out(context, *plan, size);
        ImGui::InvisibleButton("graph", size);
        is_hovered_ = ImGui::IsItemHovered();
        handle_input(at);
        if (watch_.has_changed(context.selection)) bring_into_view(context, *plan, size);
        ImDrawList& list = *ImGui::GetWindowDrawList();
        list.AddRectFilled(at, {at.x + size.x, at.y + size.y}, theme::kGroundSolid);
        list.PushClipRect(at, {at.x + size.x, at.y + size.y}, true);
        low_ = at;
        high_ = {at.x + size.x, at.y + size.y};
        origin_ = {at.x + pan_.x, at.y + pan_.y};
        tip_.clear();
        draw_edges(context, list, *plan);
        draw_passes(context, list, *plan);
        draw_culled(list, *plan);
        draw_lanes(context, list, *plan);
        list.PopClipRect();
        if (!tip_.empty()) set_tooltip(tip_);
        if (is_listed_) draw_list(context, *plan, size.y);
    }

  private:
    // Pixels at zoom 1: a row for every pass, a column for every lane; the box is in the cell's upper left corner.
    static constexpr float kRow = 24.0F, kColumn = 350.0F, kBoxHeight = 20.0F, kBoxWidth = 290.0F;
    static constexpr float kMostFitted = 1.25F;
    static constexpr std::uint32_t kMostBlocks = 12;
    static constexpr float kLeastZoom = 0.05F, kMostZoom = 6.0F;
    static constexpr float kRoundBox = 8.0F;     // pixels of height from which boxes have round corners
    static constexpr float kGraphsPart = 0.58F;  // of the width, beside the list
    static constexpr float kFaded = 0.25F;       // of a box that the filter leaves out

    /// True if the user asked to see everything at once.
    bool draw_summary(const PanelContext& context, const PlanFacts& plan) {
        std::uint32_t barriers = 0, waits = 0;
        for (const PassFacts& pass : plan.passes) barriers += pass.barriers;
        for (const profile::BatchFacts& batch : plan.batches) waits += static_cast<std::uint32_t>(batch.waits.size());
        const ImGuiStyle& style = ImGui::GetStyle();
        go_on_beside(width_of("fit") + 2 * style.FramePadding.x);
        const bool fits = ImGui::Button("fit");
        go_on_beside(ImGui::GetFrameHeight() + style.ItemInnerSpacing.x + width_of("list"));
        ImGui::Checkbox("list", &is_listed_);
        draw_filter_beside(context, 0);
        const std::string text =
            fmt::format("{} barriers, {} batches, {} waits, {} culled; hand-overs cost about {} a step", barriers,
                        plan.batches.size(), waits, plan.culled.size(), human_time(plan.hand_over_cost));
        draw_line(text, ImGui::GetColorU32(ImGuiCol_Text),
                  "a batch is submitted at once; a wait holds a batch back until another lane has signalled;\n"
                  "a barrier orders passes of one lane; a hand-over is what a wait costs after the signal");
        return fits;
    }

    /// Places the passes from top to bottom in the order of execution, in as many blocks side by side as make the boxes
    /// largest. Everything is visible until the user moves the graph.
    void lay_out(const PanelContext& context, const PlanFacts& plan, ImVec2 size) {
        lanes_.clear();
        colors_.clear();
        for (const PassFacts& pass : plan.passes)
            if (std::ranges::find(lanes_, pass.track) == lanes_.end()) {
                lanes_.push_back(pass.track);
                colors_.push_back(theme::track_color(context.text(pass.track)));
            }
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
        zoom_ = std::clamp(best, kLeastZoom, kMostFitted * context.scale);
        pan_ = {8, title};
    }

    void handle_input(ImVec2 at) {
        const ImGuiIO& io = ImGui::GetIO();
        pointer_.update();
        if (pointer_.is_dragged()) {
            pan_.x += io.MouseDelta.x;
            pan_.y += io.MouseDelta.y;
            is_moved_ = true;
        }
        if (!is_hovered_ || io.MouseWheel == 0.0F) return;
        is_moved_ = true;
        const float before = zoom_;
        zoom_ = std::clamp(zoom_ * std::pow(1.2F, io.MouseWheel), kLeastZoom, kMostZoom);
        pan_.x = io.MousePos.x - at.x - (io.MousePos.x - at.x - pan_.x) * zoom_ / before;
        pan_.y = io.MousePos.y - at.y - (io.MousePos.y - at.y - pan_.y) * zoom_ / before;
    }

    /// Moves the selected pass to the middle if the user has moved it out of the picture.
    void bring_into_view(const PanelContext& context, const PlanFacts& plan, ImVec2 size) {
        const std::uint32_t selected = plan.find(context.selection.pass, context.selection.track);
        if (selected == profile::kNone || !is_moved_) return;
        origin_ = pan_;
        const ImVec2 low = corner_of(plan, selected), high{low.x + kBoxWidth * zoom_, low.y + kBoxHeight * zoom_};
        if (low.x >= 0 && low.y >= 0 && high.x <= size.x && high.y <= size.y) return;
        pan_.x += (size.x - low.x - high.x) / 2;
        pan_.y += (size.y - low.y - high.y) / 2;
    }

    std::size_t lane_of(const PassFacts& pass) const {
        return static_cast<std::size_t>(std::ranges::find(lanes_, pass.track) - lanes_.begin());
    }
    bool is_pointed(ImVec2 low, ImVec2 high) const {
        const ImVec2 mouse = ImGui::GetIO().MousePos;
        return is_hovered_ && mouse.x >= low.x && mouse.x < high.x && mouse.y >= low.y && mouse.y < high.y;
    }
    bool is_outside(ImVec2 low, ImVec2 high) const {
        return high.x < low_.x || low.x > high_.x || high.y < low_.y || low.y > high_.y;
    }
    ImVec2 corner_of(const PlanFacts& plan, std::uint32_t pass) const {
        return corner_of(lane_of(plan.passes[pass]), pass);
    }
    ImVec2 corner_of(std::size_t lane, std::uint32_t pass) const {
        const std::size_t column = pass / rows_ * columns_ + lane;
        return {origin_.x + kColumn * zoom_ * static_cast<float>(column),
                origin_.y + kRow * zoom_ * static_cast<float>(pass % rows_)};
    }

    /// Within a lane curves are on the right of the boxes; between lanes and blocks they go from side to side.
    Curve curve_of(const PlanFacts& plan, std::uint32_t from_pass, std::uint32_t to_pass) const {
        const ImVec2 from = corner_of(plan, from_pass), to = corner_of(plan, to_pass);
        const float half = kBoxHeight * zoom_ / 2, width = kBoxWidth * zoom_;
        const auto apart = static_cast<float>(to_pass - from_pass);
        const ImVec2 a{from.x + width, from.y + half};
        const bool is_beside = from.x == to.x;
        const ImVec2 b{is_beside ? to.x + width : to.x, to.y + half};
        const float reach = (is_beside ? std::min(50.0F, 6.0F + 3.0F * apart) : 40.0F) * zoom_;
        return {a, {a.x + reach, a.y}, {is_beside ? b.x + reach : b.x - reach, b.y}, b};
    }

    void draw_edges(const PanelContext& context, ImDrawList& list, const PlanFacts& plan) {
        const std::uint32_t selected = plan.find(context.selection.pass, context.selection.track);
        const bool is_small = kRow * zoom_ < kRoundBox;
        for (const bool of_selected : {false, true})  // drawn last, over the others
            for (const profile::Dependency& each : plan.dependencies) {
                const bool is_near = selected != profile::kNone && (each.from == selected || each.to == selected);
                if (is_near != of_selected) continue;
                const Curve curve = curve_of(plan, each.from, each.to);
                if (is_outside(curve.low(), curve.high())) continue;
                const bool crosses = plan.passes[each.from].track != plan.passes[each.to].track;
                const ImU32 color = is_near   ? (each.to == selected ? theme::kGood : theme::kAccent)
                                    : crosses ? theme::kMuted
                                              : theme::kCurve;
                if (is_small && !is_near)
                    draw_straight(list, curve, color);
                else
                    list.AddBezierCubic(curve.a, curve.control_a, curve.control_b, curve.b, color,
                                        is_near ? 2.0F : 1.0F);
                if (is_hovered_ && curve.is_near(ImGui::GetIO().MousePos)) tip_ = explain(context, plan, each);
            }
        for (const profile::BatchFacts& batch : plan.batches)
            for (const profile::BatchFacts::Wait& wait : batch.waits) draw_wait(context, list, plan, batch, wait);
    }

    /// Draws a curve of only a few pixels with straight lines. Upright ones, which are most, take half the vertices.
    static void draw_straight(ImDrawList& list, const Curve& curve, ImU32 color) {
        const ImVec2 a{(curve.a.x + curve.control_a.x) / 2, curve.a.y},
            b{(curve.b.x + curve.control_b.x) / 2, curve.b.y};
        if (a.x == b.x)
            list.AddRectFilled(a, {b.x + 1, b.y}, color);
        else
            list.AddLine(a, b, color);
    }

    static std::string explain(const PanelContext& context, const PlanFacts& plan, const profile::Dependency& each) {
        const PassFacts &from = plan.passes[each.from], &to = plan.passes[each.to];
        std::string text =
            fmt::format("{} needs {} of {}", context.text(to.name), resource_of(plan, each), context.text(from.name));
        if (each.resource != profile::kNone)
            text += fmt::format("\n{} in the memory of {}", human_bytes(plan.resources[each.resource].bytes),
                                plan.resources[each.resource].domain);
        if (from.track != to.track)
            text += fmt::format("\nfrom {} to {}", context.text(from.track), context.text(to.track));
        return text;
    }

    void draw_wait(const PanelContext& context, ImDrawList& list, const PlanFacts& plan,
                   const profile::BatchFacts& batch, const profile::BatchFacts::Wait& wait) {
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
        if (!is_hovered_ || distance_to_line(ImGui::GetIO().MousePos, a, b) > kReach) return;
        const PassFacts &awaited = plan.passes[last], &waits = plan.passes[batch.first_pass];
        tip_ =
            fmt::format("{} waits until {} has signalled that {} is done;\nthe hand-over is expected to cost {} a step",
                        context.text(waits.track), context.text(awaited.track), context.text(awaited.name), cost);
    }

    static std::string resource_of(const PlanFacts& plan, const profile::Dependency& dependency) {
        if (dependency.resource == profile::kNone) return "a resource";
        return fmt::format("{}, version {}", plan.resources[dependency.resource].name, dependency.version);
    }

    void draw_passes(const PanelContext& context, ImDrawList& list, const PlanFacts& plan) {
        const NameFilter filter(context.selection.filter);
        const float height = kBoxHeight * zoom_, rounding = height < kRoundBox ? 0.0F : 3.0F;
        for (std::uint32_t i = 0; i < plan.passes.size(); ++i) {
            const PassFacts& pass = plan.passes[i];
            const std::size_t lane = lane_of(pass);
            const ImVec2 low = corner_of(lane, i), high{low.x + kBoxWidth * zoom_, low.y + height};
            if (is_outside(low, high)) continue;
            const bool is_selected = context.selection.is(pass.name, pass.track);
            const bool is_kept = filter.passes(context.text(pass.name));
            list.AddRectFilled(low, high,
                               is_selected ? theme::kSelected : theme::faded(colors_[lane], is_kept ? 1.0F : kFaded),
                               rounding);
            draw_inside(context, list, pass, is_kept ? theme::kGroundSolid : theme::kMuted, low, high);
            if (!is_pointed(low, high)) continue;
            tip_ = explain(context, plan, i);
            if (!pointer_.is_clicked()) continue;
            context.selection.select(pass.name, pass.track, plan.id);
            watch_.note(context.selection);
        }
    }

    void draw_list(const PanelContext& context, const PlanFacts& plan, float height) {
        ImGui::SameLine();
        if (list_.wants_rows(context, plan.id)) {
            std::vector<ListedPass> rows(plan.passes.size());
            for (std::uint32_t i = 0; i < rows.size(); ++i) {
                const PassFacts& pass = plan.passes[i];
                const profile::PassProfile* timed = context.profile.find(pass.name, pass.track);
                static_cast<TableRow&>(rows[i]) = {std::string(context.text(pass.name)), pass.name, pass.track,
                                                   plan.id};
                rows[i].index = i;
                rows[i].barriers = pass.barriers;
                rows[i].median = timed != nullptr ? timed->quantile(0.5) : Nanoseconds{};
            }
            for (const profile::Dependency& each : plan.dependencies) {
                ++rows[each.to].needs;
                ++rows[each.from].makes;
            }
            list_.set_rows(std::move(rows));
        }
        list_.draw(context, height, {.tip = [&](const ListedPass& row) { return explain(context, plan, row.index); }});
    }

    /// A title over every column of boxes: the lane, and what the boxes say, where there is room.
    void draw_lanes(const PanelContext& context, ImDrawList& list, const PlanFacts& plan) const {
        const float y = origin_.y - ImGui::GetTextLineHeight() - 4, width = kColumn * zoom_ - 4;
        constexpr std::string_view kInside = "barriers, pass, median";
        const float inside = width_of(kInside), box = kBoxWidth * zoom_;
        for (std::uint32_t first = 0; first < plan.passes.size(); first += rows_)
            for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
                const float x = corner_of(lane, first).x;
                const std::string_view name = context.text(lanes_[lane]);
                list.AddText({x, y}, theme::kText, elided(name, width).c_str());
                if (kBoxHeight * zoom_ >= ImGui::GetTextLineHeight() - 1 && width_of(name) + 12 + inside <= box)
                    list.AddText({x + box - inside, y}, theme::kMuted, kInside.data());
            }
        if (!plan.culled.empty())
            list.AddText({corner_of(lanes_.size(), 0).x, y}, theme::kMuted, elided("culled", width).c_str());
    }

    /// Where there is room: the number of barriers before the pass, its name, and its median time.
    static void draw_inside(const PanelContext& context, ImDrawList& list, const PassFacts& pass, ImU32 color,
                            ImVec2 low, ImVec2 high) {
        const float line = ImGui::GetTextLineHeight(), y = (low.y + high.y - line) / 2;
        if (high.y - low.y < line - 1) return;
        const profile::PassProfile* timed = context.profile.find(pass.name, pass.track);
        const std::string time = timed != nullptr ? human_time(timed->quantile(0.5)) : std::string();
        const float time_width = width_of(time);
        float left = low.x + 4, right = high.x - 4;
        if (right - left > 3 * time_width) {
            list.AddText({right - time_width, y}, color, time.c_str());
            right -= time_width + 8;
        }
        const std::string barriers = pass.barriers > 0 ? fmt::format("{}", pass.barriers) : std::string();
        if (right - left > 60) {
            const float digits = std::max(width_of("00"), width_of(barriers));
            list.AddRectFilled(low, {left + digits + 3, high.y}, IM_COL32(255, 255, 255, 72), 3.0F,
                               ImDrawFlags_RoundCornersLeft);
            list.AddText({left + digits - width_of(barriers), y}, color, barriers.c_str());
            left += digits + 8;
        }
        list.AddText({left, y}, color, elided(context.text(pass.name), right - left, Cut::Begin).c_str());
    }

    /// Draws culled passes in a column of their own; the tooltip has the reason.
    void draw_culled(ImDrawList& list, const PlanFacts& plan) {
        const float line = ImGui::GetTextLineHeight();
        for (std::uint32_t i = 0; i < plan.culled.size(); ++i) {
            const ImVec2 low = corner_of(lanes_.size(), i);
            const ImVec2 high{low.x + kBoxWidth * zoom_, low.y + kBoxHeight * zoom_};
            if (is_outside(low, high)) continue;
            list.AddRect(low, high, theme::kMuted, 3.0F);
            if (high.y - low.y >= line - 1)
                list.AddText({low.x + 4, (low.y + high.y - line) / 2}, theme::kMuted,
                             elided(plan.culled[i].name, high.x - low.x - 8, Cut::Begin).c_str());
            if (is_pointed(low, high))
                tip_ = fmt::format("{} is culled:\n{}", plan.culled[i].name, plan.culled[i].reason);
        }
    }

    static std::string explain(const PanelContext& context, const PlanFacts& plan, std::uint32_t index) {
        if (index >= plan.passes.size()) return {};  // of another plan: the row is about to be replaced
        const PassFacts& pass = plan.passes[index];
        std::string text = fmt::format("{} on {}\npass {} of {}, {} barriers in front", context.text(pass.name),
                                       context.text(pass.track), index + 1, plan.passes.size(), pass.barriers);
        if (const profile::PassProfile* timed = context.profile.find(pass.name, pass.track))
            text += fmt::format("\nmedian {} of {} calls", human_time(timed->quantile(0.5)), timed->calls);
        for (const profile::Dependency& each : plan.dependencies) {
            if (each.to == index)
                text +=
                    fmt::format("\nneeds {} of {}", resource_of(plan, each), context.text(plan.passes[each.from].name));
            if (each.from == index)
                text +=
                    fmt::format("\nmakes {} for {}", resource_of(plan, each), context.text(plan.passes[each.to].name));
        }
        return text;
    }

    Table<ListedPass> list_{"list", kListColumns, {.sorting = {1, true}}};
    SelectionWatch watch_;
    ClickOrDrag pointer_;
    bool is_listed_ = false, is_hovered_ = false;
    std::string tip_;            // of what is under the pointer
    ImVec2 low_{}, high_{};      // the graph's part of the window
    std::vector<ImU32> colors_;  // of the lanes
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
