// DrawnText: reads what an ImGui draw list says, and whether it can be read, from the glyphs in it.
#pragma once

#include <imgui.h>
#include <imgui_internal.h>

#include <string>
#include <vector>

namespace kinetograph::ui::testing {

struct Letter {
    ImRect place;  ///< of the whole glyph
    ImRect seen;   ///< what is not clipped of it
    ImWchar letter = 0;
    float begin = 0.0F, end = 0.0F, space = 0.0F;  ///< where it begins, where the next one does, and a blank's width
    bool is_seen() const { return seen.Min.x < seen.Max.x && seen.Min.y < seen.Max.y; }
    /// But for the smoothed edge that may be a pixel beyond a line's height.
    bool is_whole() const {
        return place.Min.x >= seen.Min.x && place.Max.x <= seen.Max.x && place.Min.y + 1 >= seen.Min.y &&
               place.Max.y - 1 <= seen.Max.y;
    }
};
/// Every glyph of the current context's fonts that can be seen in part, in the order of drawing.
std::vector<Letter> letters_of(const ImDrawList& list);

struct Text {
    std::string text;
    ImRect place;
    std::vector<Letter> letters;
};
/// The same letters put together: a text is drawn from left to right, with one space at most between two words.
std::vector<Text> texts_of(const ImDrawList& list);

/// What is wrong with the picture that the current context has drawn last, a sentence each: texts that overlap, that
/// are cut off or that lie outside the display; windows outside the display or with contents wider than they are. A
/// window that scrolls may cut a line at its lower or upper edge, and a table that scrolls sideways may be wider.
std::vector<std::string> layout_faults();

}  // namespace kinetograph::ui::testing
