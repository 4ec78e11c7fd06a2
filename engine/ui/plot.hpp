// One small plot: values as bars in the window that is open, with a tooltip of the one under the pointer.
#pragma once

#include <imgui.h>

#include <functional>
#include <span>
#include <string>

namespace kinetograph::ui {

struct PlotOptions {
    float width = 0.0F;    ///< pixels; 0: as wide as the window
    float height = 60.0F;  ///< pixels, of the bars
    float line = -1.0F;    ///< a level to mark: a median, a budget; negative: none
    ImU32 color = IM_COL32(255, 160, 82, 255);
    std::string least{}, most{};                    ///< labels at the ends of the axis below the bars; empty: no axis
    std::function<std::string(std::size_t)> tip{};  ///< tooltip of value i
    std::function<ImU32(std::size_t)> color_of{};   ///< of value i; empty: `color`
    std::function<std::string(float)> level{};      ///< label of a value on the left axis, may be ""; empty: no axis
    bool clips = false;  ///< values far above nearly all others are cut at the upper edge and marked
};

/// The value at the upper edge: the largest of the values and the line, or, if the plot clips, 1.25 times the value
/// that 99 of 100 values do not exceed, if that is less.
float plot_top(std::span<const float> values, const PlotOptions& options);

/// Draws bars from 0 to plot_top(), with `label` in a line above; an empty frame if there are no values.
void plot_bars(const char* label, std::span<const float> values, const PlotOptions& options = {});

}  // namespace kinetograph::ui
