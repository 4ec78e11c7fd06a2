// The two fonts of the interface, embedded in the library.
#pragma once

struct ImFont;
struct ImFontAtlas;

namespace kinetograph::ui {

/// Sizes are pixels of letter height.
struct Fonts {
    ImFont* text = nullptr;   ///< Roboto Medium: its digits have equal widths, so columns of numbers align
    ImFont* large = nullptr;  ///< the same, for figures that are read from a distance
};

inline constexpr float kTextSize = 15.0F;
inline constexpr float kLargeSize = 24.0F;

/// Adds both to `atlas` at `scale` times their size, before the atlas is built; it may be a host application's.
Fonts add_fonts(ImFontAtlas& atlas, float scale = 1.0F);

}  // namespace kinetograph::ui
