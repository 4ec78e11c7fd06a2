// TextFinder: searches a picture for a text by the shapes of its letters, independently of the code that drew it.
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

/// Pixels from (x0, y0) to before (x1, y1).
struct Area {
    std::uint32_t x0, y0, x1, y1;
};
present::Picture crop(const present::Picture& picture, const Area& area);

/// Rasterises `text` with the library's font at `size` pixels and returns the best match in `picture`. A text that is
/// present correlates at 0.9 or more; other texts of the same length stay below 0.8.
FoundText find_text(const present::Picture& picture, std::string_view text, float size);

}  // namespace kinetograph::ui::testing
