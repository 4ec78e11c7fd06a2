// TextFinder: looks for a text in a picture by the shapes of its letters, without asking whoever drew it.
#pragma once

#include <kinetograph/engine/present/png.hpp>

#include <imgui.h>

#include <optional>
#include <string_view>

namespace kinetograph::ui::testing {

struct FoundText {
    std::uint32_t x = 0, y = 0;  ///< upper left pixel
    double correlation = 0.0;    ///< of the letters' coverage with the picture's brightness, in [-1, 1]
};

/// Rasterises `text` with the library's font at `size` pixels, on its own, and returns the place in `picture` that
/// looks most like it. A text that is there correlates at 0.9 or more; other texts of the same length stay below 0.8.
FoundText find_text(const present::Picture& picture, std::string_view text, float size);

}  // namespace kinetograph::ui::testing
