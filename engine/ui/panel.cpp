#include <kinetograph/engine/ui/panel.hpp>

#include <kinetograph/engine/ui/counters_text.hpp>
#include <kinetograph/engine/ui/elide.hpp>
#include <kinetograph/engine/ui/lines.hpp>
#include <kinetograph/engine/ui/panels.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <fmt/core.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace kinetograph::ui {
namespace {

constexpr float kGap = 6.0F;                                // pixels between panels
constexpr float kLeastWidth = 19.0F, kLeastHeight = 10.0F;  // of an arranged panel, in heights of a letter

float width_of_box(const std::string& label) {
    return std::ceil(ImGui::GetFrameHeight() + ImGui::GetStyle().ItemInnerSpacing.x + width_of(label));
}

/// Rows of items that are drawn beside each other as long as a width permits.
class Rows {
  public:
    explicit Rows(float width) : room_(width) {}
    /// The position of the next item.
    ImVec2 next(float width) {
        if (x_ > 0.0F && x_ + width > room_) {
            x_ = 0.0F;
            ++row_;
        }
        const ImVec2 at{x_, static_cast<float>(row_) * ImGui::GetFrameHeightWithSpacing()};
        x_ += width + ImGui::GetStyle().ItemSpacing.x;
        widest_ = std::max(widest_, at.x + width);
        return at;
    }
    float widest() const { return widest_; }
    float height() const { return static_cast<float>(row_ + 1) * ImGui::GetFrameHeightWithSpacing(); }

  private:
    float room_, x_ = 0.0F, widest_ = 0.0F;
    int row_ = 0;
};

}  // namespace

PanelHost PanelHost::with_all_panels() {
    PanelHost host;
    host.add(make_passes_panel());
    host.add(make_timeline_panel());
    host.add(make_pacing_panel());
    host.add(make_memory_panel());
    host.add(make_graph_panel(), false);
    host.add(make_spikes_panel(), false);
    host.add(make_clips_panel(), false);
    return host;
}

PanelHost::Entry* PanelHost::find(std::string_view name) {
    const auto found = std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.panel->name() == name; });
    return found != entries_.end() ? &*found : nullptr;
}

void PanelHost::add(std::unique_ptr<Panel> panel, bool shown) {
    if (Entry* known = find(panel->name())) {
        known->panel = std::move(panel);
        known->shown = shown;
        return;
    }
    entries_.push_back({.panel = std::move(panel), .shown = shown});
}

std::unique_ptr<Panel> PanelHost::remove(std::string_view name) {
    Entry* found = find(name);
    if (found == nullptr) return nullptr;
    auto panel = std::move(found->panel);
    entries_.erase(entries_.begin() + (found - entries_.data()));
    return panel;
}

std::string PanelHost::window_name(std::string_view panel) { return fmt::format("{0}###kinetograph.{0}", panel); }

void PanelHost::show(std::string_view name, bool shown) {
    if (Entry* found = find(name)) {
        found->shown = shown;
        found->closed = false;
    }
}

bool PanelHost::is_shown(std::string_view name) const {
    return std::ranges::any_of(entries_,
                               [&](const Entry& entry) { return entry.shown && entry.panel->name() == name; });
}

std::vector<std::string_view> PanelHost::names() const {
    std::vector<std::string_view> result;
    for (const Entry& entry : entries_) result.push_back(entry.panel->name());
    return result;
}

void PanelHost::arrange(float x, float y, float width, float height) {
    place_ = {x, y, width, height};
    bar_placed_ = is_arranging_ = true;
}

/// `top`: the lower edge of the bar.
void PanelHost::place_shown(float top) {
    std::vector<Entry*> shown;
    for (Entry& entry : entries_)
        if (entry.shown) shown.push_back(&entry);
    const float letter = ImGui::GetFontSize(), width = place_.width, height = place_.y + place_.height - top - kGap;
    const std::size_t columns = width >= 2 * kLeastWidth * letter + kGap ? 2 : 1;
    const auto most_rows = static_cast<std::size_t>(std::max(1.0F, height / (kLeastHeight * letter)));
    const std::size_t count = std::min(shown.size(), most_rows * columns), rows = (count + columns - 1) / columns;
    const float row = height / static_cast<float>(std::max<std::size_t>(rows, 1));
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const std::size_t row_index = i / columns;
        Entry& entry = *shown[i];
        entry.closed = i >= count;
        entry.placed = !entry.closed;
        const bool is_wide = columns == 1 || (count % 2 != 0 && i + 1 == count);
        entry.width = (is_wide ? width : width / 2) - kGap / 2;
        entry.height = row - kGap;
        entry.x = place_.x + (i % columns == 0 ? 0 : width / 2 + kGap / 2);
        entry.y = top + kGap + static_cast<float>(row_index) * row;
    }
}

/// Returns its lower edge. What is too wide for one row goes on in another.
float PanelHost::draw_bar(const PanelContext& context) {
    constexpr const char* kFreeze = "Freeze";
    constexpr const char* kArrange = "Arrange";
    const ImGuiStyle& style = ImGui::GetStyle();
    const bool can_arrange = place_.width > 0.0F;
    const float arrange = std::ceil(width_of(kArrange) + 2 * style.FramePadding.x);
    const float room =
        (can_arrange ? place_.width : ImGui::GetIO().DisplaySize.x - 2 * place_.x) - 2 * style.WindowPadding.x;
    Rows measured(room);
    for (const Entry& entry : entries_) measured.next(width_of_box(std::string(entry.panel->name())));
    measured.next(width_of_box(kFreeze));
    if (can_arrange) measured.next(arrange);
    const std::uint64_t missed = context.profile.missed_spans();
    std::string figures = counters_text(context, context.profile.counters());
    if (missed > 0)
        figures = fmt::format("{} spans were overwritten before they were read: the figures leave them out   {}",
                              missed, figures);
    const float width =
        std::min(room, std::max(measured.widest(), std::ceil(width_of(figures)))) + 2 * style.WindowPadding.x;
    const float height = measured.height() + ImGui::GetTextLineHeight() + 2 * style.WindowPadding.y;
    ImGui::SetNextWindowSize({width, height});
    if (bar_placed_) ImGui::SetNextWindowPos({place_.x, place_.y});
    bar_placed_ = false;
    constexpr ImGuiWindowFlags kFlags = ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoResize |
                                        ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;
    if (ImGui::Begin(window_name("Profiler").c_str(), nullptr, kFlags)) {
        Rows rows(room);
        const ImVec2 corner = ImGui::GetCursorPos();
        const auto go_to = [&](float item) {
            const ImVec2 at = rows.next(item);
            ImGui::SetCursorPos({corner.x + at.x, corner.y + at.y});
        };
        for (Entry& entry : entries_) {
            const std::string name(entry.panel->name());
            bool is_open = entry.shown && !entry.closed;
            go_to(width_of_box(name));
            if (ImGui::Checkbox(name.c_str(), &is_open)) show(name, is_open);
        }
        go_to(width_of_box(kFreeze));
        ImGui::Checkbox(kFreeze, &frozen_);
        if (ImGui::IsItemHovered()) set_tooltip("Nothing new is taken over: what is on the screen stays");
        if (can_arrange) {
            go_to(arrange);
            ImGui::SetCursorPosY(ImGui::GetCursorPosY() + style.FramePadding.y);
            if (ImGui::SmallButton(kArrange)) is_arranging_ = true;
            if (ImGui::IsItemHovered()) set_tooltip("The panels that are shown fill the picture");
        }
        ImGui::SetCursorPos({corner.x, corner.y + rows.height()});
        draw_line(figures, missed > 0 ? theme::kBad : ImGui::GetColorU32(ImGuiCol_Text));
    }
    const float bottom = ImGui::GetWindowPos().y + height;
    ImGui::End();
    return bottom;
}

void PanelHost::draw(profile::Profile& profile, Nanoseconds now, float scale) {
    if (!frozen_) {
        profile.update(now);
        now_ = now;
    }
    const PanelContext context{profile, selection_, now_, scale};
    const float top = draw_bar(context);
    if (std::exchange(is_arranging_, false)) place_shown(top);
    const ImVec2 display = ImGui::GetIO().DisplaySize;
    for (Entry& entry : entries_) {
        if (!entry.shown || entry.closed) continue;
        ImGui::SetNextWindowPos({place_.x, top + kGap}, ImGuiCond_FirstUseEver);
        ImGui::SetNextWindowSize({std::min(620 * scale, display.x - place_.x), std::min(360 * scale, display.y - top)},
                                 ImGuiCond_FirstUseEver);
        if (entry.placed) {
            ImGui::SetNextWindowPos({entry.x, entry.y});
            ImGui::SetNextWindowSize({entry.width, entry.height});
            entry.placed = false;
        }
        if (ImGui::Begin(window_name(entry.panel->name()).c_str(), &entry.shown)) entry.panel->draw(context);
        ImGui::End();
    }
}

}  // namespace kinetograph::ui
