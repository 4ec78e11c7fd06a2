#include <kinetograph/engine/ui/plot.hpp>

#include <kinetograph/engine/ui/elide.hpp>
#include <kinetograph/engine/ui/lines.hpp>
#include <kinetograph/engine/ui/theme.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

namespace kinetograph::ui {
namespace {

constexpr float kMark = 5.0F;  // pixels of the triangle over a value that is clipped

/// The levels of the axis, left of `at`, with lines through the plot.
void draw_axis(ImDrawList& list, ImVec2 at, float width, float top, const PlotOptions& options) {
    const float line = ImGui::GetTextLineHeight();
    const auto draw_level = [&](float part, float text_y) {
        const std::string text = part == 0.0F ? std::string("0") : options.level(part * top);
        const float y = at.y + options.height * (1.0F - part);
        if (text.empty()) return;
        list.AddText({at.x - 6 - width_of(text), text_y}, theme::kMuted, text.c_str());
        list.AddLine({at.x - 4, y}, {at.x + width, y}, theme::kLine);
    };
    draw_level(1.0F, at.y - 2);
    draw_level(0.0F, at.y + options.height - line + 2);
    if (options.height >= 3 * line) draw_level(0.5F, at.y + (options.height - line) / 2);
}

void draw_bars(ImDrawList& list, ImVec2 at, float width, std::span<const float> values, float top,
               const PlotOptions& options) {
    list.AddRectFilled(at, {at.x + width, at.y + options.height}, theme::kRaised, 2.0F);
    if (options.level) draw_axis(list, at, width, top, options);
    const float bar = width / static_cast<float>(std::max<std::size_t>(values.size(), 1));
    for (std::size_t i = 0; i < values.size(); ++i) {
        const float left = at.x + static_cast<float>(i) * bar, right = left + std::max(bar - 1.0F, 1.0F);
        const float tall = options.height * std::min(values[i] / top, 1.0F);
        list.AddRectFilled({left, at.y + options.height - tall}, {right, at.y + options.height},
                           options.color_of ? options.color_of(i) : options.color);
        const float middle = (left + right) / 2;
        if (values[i] > top)
            list.AddTriangleFilled({middle - kMark, at.y + kMark}, {middle + kMark, at.y + kMark}, {middle, at.y},
                                   theme::kText);
    }
    if (options.line < 0.0F) return;
    const float y = at.y + options.height * (1.0F - options.line / top);
    list.AddLine({at.x, y}, {at.x + width, y}, theme::kText);
}

}  // namespace

float plot_top(std::span<const float> values, const PlotOptions& options) {
    constexpr float kRoom = 1.25F;
    constexpr std::size_t kBeyond = 100;  // one of so many values may be clipped
    const float least = std::max(options.line, 1e-9F);
    if (values.empty()) return least;
    const float largest = std::max(least, std::ranges::max(values));
    if (!options.clips) return largest;
    std::vector<float> sorted(values.begin(), values.end());
    const auto nearly_all = sorted.end() - 1 - static_cast<std::ptrdiff_t>(sorted.size() / kBeyond);
    std::ranges::nth_element(sorted, nearly_all);
    return std::min(largest, std::max(least, kRoom * *nearly_all));
}

void plot_bars(const char* label, std::span<const float> values, const PlotOptions& options) {
    const float available = std::max(ImGui::GetContentRegionAvail().x, 32.0F);
    const float width = options.width > 0.0F ? std::min(options.width, available) : available;
    PlotOptions drawn = options;
    if (options.level) drawn.height = std::max(options.height, 2 * ImGui::GetTextLineHeight());
    const float top = plot_top(values, options);
    const auto beyond = std::ranges::count_if(values, [&](float value) { return value > top; });
    const std::string text = beyond > 0 ? fmt::format("{}; {} longer, marked", label, beyond) : std::string(label);
    const float gutter =
        options.level ? std::max(width_of(options.level(top)), width_of(options.level(top / 2))) + 8 : 0;
    ImGui::BeginGroup();
    ImGui::TextDisabled("%s", elided(text, width).c_str());
    const ImVec2 corner = ImGui::GetCursorScreenPos(), at{corner.x + gutter, corner.y};
    const float inside = std::max(width - gutter, 1.0F);
    ImGui::Dummy({width, drawn.height});
    draw_bars(*ImGui::GetWindowDrawList(), at, inside, values, top, drawn);
    if (options.tip && ImGui::IsItemHovered() && !values.empty()) {
        const auto count = static_cast<float>(values.size());
        const float along = std::clamp((ImGui::GetIO().MousePos.x - at.x) / inside * count, 0.0F, count - 1.0F);
        set_tooltip(options.tip(static_cast<std::size_t>(along)));
    }
    if (!options.most.empty()) {
        const ImVec2 below = ImGui::GetCursorScreenPos();
        ImGui::Dummy({width, ImGui::GetTextLineHeight()});
        ImDrawList& list = *ImGui::GetWindowDrawList();
        const float least = width_of(options.least), most = width_of(options.most);
        if (most <= width) list.AddText({below.x + width - most, below.y}, theme::kMuted, options.most.c_str());
        if (gutter + least + ImGui::GetFontSize() + most <= width)
            list.AddText({below.x + gutter, below.y}, theme::kMuted, options.least.c_str());
    }
    ImGui::EndGroup();
}

}  // namespace kinetograph::ui
