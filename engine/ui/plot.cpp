#include <kinetograph/engine/ui/plot.hpp>

#include <kinetograph/engine/ui/theme.hpp>

#include <algorithm>
#include <cmath>

namespace kinetograph::ui {

void plot_bars(const char* label, std::span<const float> values, const PlotOptions& options) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width = std::max(ImGui::GetContentRegionAvail().x, 32.0F), height = options.height;
    ImGui::Dummy({width, height});
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(at, {at.x + width, at.y + height}, theme::kRaised, 2.0F);
    float largest = std::max(options.line, 1e-9F);
    for (const float value : values) largest = std::max(largest, value);
    const auto count = static_cast<float>(std::max<std::size_t>(values.size(), 1));
    const float bar = width / count;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const float left = at.x + static_cast<float>(i) * bar, tall = height * values[i] / largest;
        list.AddRectFilled({left, at.y + height - tall}, {left + std::max(bar - 1.0F, 1.0F), at.y + height},
                           options.color);
    }
    if (options.line >= 0.0F) {
        const float y = at.y + height * (1.0F - options.line / largest);
        list.AddLine({at.x, y}, {at.x + width, y}, theme::kMuted);
    }
    list.AddText({at.x + 4, at.y + 2}, theme::kText, label);
    if (!options.tip || !ImGui::IsItemHovered() || values.empty()) return;
    const float along = std::clamp((ImGui::GetIO().MousePos.x - at.x) / bar, 0.0F, count - 1.0F);
    ImGui::SetTooltip("%s", options.tip(static_cast<std::size_t>(along)).c_str());
}

}  // namespace kinetograph::ui
