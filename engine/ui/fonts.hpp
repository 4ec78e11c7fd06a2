// The two fonts of the interface, carried inside the library.
#pragma once

struct ImFont;
struct ImFontAtlas;

namespace kinetograph::ui {

/// Sizes are pixels of letter height.
struct Fonts {
    ImFont* text = nullptr;   ///< Roboto Medium: its digits are all equally wide, so columns of numbers align
    ImFont* large = nullptr;  ///< the same, for the figures that are read from afar
};

inline constexpr float kTextSize = 15.0F;
inline constexpr float kLargeSize = 24.0F;

/// Adds both to `atlas` at `scale` times their size. Call it before the atlas is built; the atlas may be a host
/// application's.
Fonts add_fonts(ImFontAtlas& atlas, float scale = 1.0F);

}  // namespace kinetograph::ui
