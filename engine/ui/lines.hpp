// Lines of text, rows of items and tooltips of windows, each in the room that it has.
#pragma once

#include <imgui.h>

#include <string_view>

namespace kinetograph::ui {

/// A line of text in what is left of the window's width. Its tooltip is the whole text, if some is missing, and what
/// explains it.
void draw_line(std::string_view text, ImU32 color = ImGui::GetColorU32(ImGuiCol_Text),
               std::string_view explanation = {});
/// The same in the colour of what matters less.
void draw_muted_line(std::string_view text, std::string_view explanation = {});

/// The next item goes beside the last one if there is room for `width` pixels, which is returned, else below it.
bool go_on_beside(float width);

/// Shows a tooltip in place of this picture's earlier ones, with as much of `text` as the display has room for.
void set_tooltip(std::string_view text);

}  // namespace kinetograph::ui
