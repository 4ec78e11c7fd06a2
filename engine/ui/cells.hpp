// Cells of ImGui tables: texts at the left edge of their column, numbers at the right one.
#pragma once

#include <initializer_list>
#include <string>

namespace kinetograph::ui {

/// Declares the columns of the table that was begun, and draws their titles: the first one, twice as wide, over
/// texts, the others over numbers.
void draw_titles(std::initializer_list<const char*> titles);

/// In the column that is current.
void draw_number(const std::string& text);
/// In the next column.
void next_number(const std::string& text);

}  // namespace kinetograph::ui
