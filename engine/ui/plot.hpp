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
    std::string least{}, most{};                    ///< of the axis below the bars, at its ends; empty: no axis
    std::function<std::string(std::size_t)> tip{};  ///< of value i
    std::function<ImU32(std::size_t)> color_of{};   ///< of value i; empty: `color`
    std::function<std::string(float)> level{};      ///< names a value on the axis at the left, or none; empty: no axis
    bool clips = false;  ///< values far above nearly all others end at the upper edge, with a mark
};

/// Where the plot ends: at the largest of the values and the line, or, if it clips, at 1.25 times what 99 of 100 values
/// do not exceed, where that is less.
float plot_top(std::span<const float> values, const PlotOptions& options);

/// From 0 to plot_top(), with `label` in a line above. No values: an empty frame.
void plot_bars(const char* label, std::span<const float> values, const PlotOptions& options = {});

}  // namespace kinetograph::ui
