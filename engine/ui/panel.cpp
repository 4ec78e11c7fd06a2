#include <kinetograph/engine/ui/panel.hpp>

#include <kinetograph/engine/ui/counters_text.hpp>
#include <kinetograph/engine/ui/panels.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <fmt/core.h>
#include <imgui.h>

#include <algorithm>
#include <string>

namespace kinetograph::ui {
namespace {

constexpr float kBarHeight = 58.0F, kGap = 6.0F;

}  // namespace

PanelHost PanelHost::with_all_panels() {
    PanelHost host;
    host.add(make_passes_panel());
    host.add(make_timeline_panel());
    host.add(make_pacing_panel());
    host.add(make_memory_panel());
    host.add(make_graph_panel(), false);
    host.add(make_spikes_panel(), false);
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
    if (Entry* found = find(name)) found->shown = shown;
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
    bar_placed_ = true;
    place_shown();
}

void PanelHost::place_shown() {
    std::vector<Entry*> shown;
    for (Entry& entry : entries_)
        if (entry.shown) shown.push_back(&entry);
    const std::size_t rows = (shown.size() + 1) / 2;
    const auto [x, y, width, height] = place_;
    const float top = y + kBarHeight + kGap,
                row = (height - kBarHeight - kGap) / static_cast<float>(std::max<std::size_t>(rows, 1));
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const std::size_t row_index = i / 2;
        const bool alone = shown.size() % 2 != 0 && i + 1 == shown.size();
        Entry& entry = *shown[i];
        entry.placed = true;
        entry.width = (alone ? width : width / 2) - kGap / 2;
        entry.height = row - kGap;
        entry.x = x + (i % 2 == 0 ? 0 : width / 2 + kGap / 2);
        entry.y = top + static_cast<float>(row_index) * row;
    }
}

void PanelHost::draw_bar(const PanelContext& context) {
    if (bar_placed_) ImGui::SetNextWindowPos({place_.x, place_.y});
    bar_placed_ = false;
    if (ImGui::Begin(window_name("Profiler").c_str(), nullptr,
                     ImGuiWindowFlags_AlwaysAutoResize | ImGuiWindowFlags_NoTitleBar)) {
        for (Entry& entry : entries_) {
            ImGui::Checkbox(std::string(entry.panel->name()).c_str(), &entry.shown);
            ImGui::SameLine();
        }
        ImGui::Checkbox("Freeze", &frozen_);
        if (ImGui::IsItemHovered()) ImGui::SetTooltip("Nothing new is taken over: what is on the screen stays");
        if (place_.width > 0.0F) {
            ImGui::SameLine();
            if (ImGui::SmallButton("Arrange")) place_shown();
            if (ImGui::IsItemHovered()) ImGui::SetTooltip("The panels that are shown fill the picture");
        }
        ImGui::TextUnformatted(counters_text(context, context.profile.counters()).c_str());
        if (const std::uint64_t missed = context.profile.missed_spans(); missed > 0)
            ImGui::TextColored(ImColor(theme::kBad),
                               "%llu spans were overwritten before they were read: the figures leave them out",
                               static_cast<unsigned long long>(missed));
    }
    ImGui::End();
}

void PanelHost::draw(profile::Profile& profile, Nanoseconds now, float scale) {
    if (!frozen_) {
        profile.update(now);
        now_ = now;
    }
    const PanelContext context{profile, selection_, now_, scale};
    draw_bar(context);
    for (Entry& entry : entries_) {
        if (!entry.shown) continue;
        ImGui::SetNextWindowSize({620 * scale, 360 * scale}, ImGuiCond_FirstUseEver);
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
