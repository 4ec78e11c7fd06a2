// The filter that all panels share: `conv,-head` keeps names with "conv" and without "head", in either case.
#pragma once

#include <kinetograph/engine/ui/panel.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace kinetograph::ui {

/// Words separated by commas. A name passes if it contains any of the words without a minus sign, or if there are none
/// of these, and contains none of the words after a minus sign.
class NameFilter {
  public:
    explicit NameFilter(std::string_view text);
    bool passes(std::string_view name) const;

  private:
    std::vector<std::string> wanted_, unwanted_;  // lower case
};

/// The box in which the common filter is typed, beside the last item if there is room, at most `width` pixels wide; 0:
/// as wide as there is room.
void draw_filter_beside(const PanelContext& context, float width);
/// The same at the cursor.
void draw_filter(const PanelContext& context, float width);

}  // namespace kinetograph::ui
