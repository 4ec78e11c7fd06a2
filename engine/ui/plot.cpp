#include <kinetograph/engine/ui/plot.hpp>

#include <kinetograph/engine/ui/elide.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <algorithm>
#include <cmath>

namespace kinetograph::ui {
namespace {

void draw_bars(ImDrawList& list, ImVec2 at, float width, std::span<const float> values, const PlotOptions& options) {
    list.AddRectFilled(at, {at.x + width, at.y + options.height}, theme::kRaised, 2.0F);
    float largest = std::max(options.line, 1e-9F);
    for (const float value : values) largest = std::max(largest, value);
    const float bar = width / static_cast<float>(std::max<std::size_t>(values.size(), 1));
    for (std::size_t i = 0; i < values.size(); ++i) {
        const float left = at.x + static_cast<float>(i) * bar, tall = options.height * values[i] / largest;
        list.AddRectFilled({left, at.y + options.height - tall},
                           {left + std::max(bar - 1.0F, 1.0F), at.y + options.height},
                           options.color_of ? options.color_of(i) : options.color);
    }
    if (options.line < 0.0F) return;
    const float y = at.y + options.height * (1.0F - options.line / largest);
    list.AddLine({at.x, y}, {at.x + width, y}, theme::kText);
}

}  // namespace

void plot_bars(const char* label, std::span<const float> values, const PlotOptions& options) {
    const float available = std::max(ImGui::GetContentRegionAvail().x, 32.0F);
    const float width = options.width > 0.0F ? std::min(options.width, available) : available;
    ImGui::BeginGroup();
    ImGui::TextDisabled("%s", elided(label, width).c_str());
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::Dummy({width, options.height});
    draw_bars(*ImGui::GetWindowDrawList(), at, width, values, options);
    if (options.tip && ImGui::IsItemHovered() && !values.empty()) {
        const auto count = static_cast<float>(values.size());
        const float along = std::clamp((ImGui::GetIO().MousePos.x - at.x) / width * count, 0.0F, count - 1.0F);
        ImGui::SetTooltip("%s", options.tip(static_cast<std::size_t>(along)).c_str());
    }
    if (!options.most.empty()) {
        const ImVec2 below = ImGui::GetCursorScreenPos();
        ImGui::Dummy({width, ImGui::GetTextLineHeight()});
        ImDrawList& list = *ImGui::GetWindowDrawList();
        list.AddText(below, theme::kMuted, options.least.c_str());
        list.AddText({below.x + width - width_of(options.most), below.y}, theme::kMuted, options.most.c_str());
    }
    ImGui::EndGroup();
}

}  // namespace kinetograph::ui
