// Colours and distances of the interface: dark background, one accent, one colour per lane.
#pragma once

#include <imgui.h>

#include <string_view>

namespace kinetograph::ui::theme {

inline constexpr ImU32 kGround = IM_COL32(16, 18, 23, 226);
inline constexpr ImU32 kGroundSolid = IM_COL32(16, 18, 23, 255);
inline constexpr ImU32 kRaised = IM_COL32(255, 255, 255, 14);
inline constexpr ImU32 kLine = IM_COL32(255, 255, 255, 26);
inline constexpr ImU32 kCurve = IM_COL32(255, 255, 255, 96);  ///< of one of many curves that cross each other
inline constexpr ImU32 kText = IM_COL32(232, 235, 240, 255);
inline constexpr ImU32 kMuted = IM_COL32(148, 156, 170, 255);
inline constexpr ImU32 kAccent = IM_COL32(255, 176, 84, 255);
inline constexpr ImU32 kGood = IM_COL32(126, 211, 150, 255);
inline constexpr ImU32 kBad = IM_COL32(255, 118, 108, 255);
inline constexpr ImU32 kSelected = IM_COL32(255, 255, 255, 255);  ///< what was clicked; not the colour of any lane

inline constexpr float kPadding = 14.0F;  ///< pixels at scale 1, as are all distances
inline constexpr float kRounding = 8.0F;

/// Colour of a track of the profiler: a lane of the graph, or another thread.
ImU32 track_color(std::string_view track);

/// Its place in the order in which a frame passes through the lanes; other tracks come last.
std::size_t track_rank(std::string_view track);

/// A colour of its own for every resource of a plan; neighbours differ.
ImU32 resource_color(std::size_t resource);

/// The colour for text on that opaque colour: kGroundSolid or kText, whichever has more contrast.
ImU32 text_on(ImU32 color);
/// Contrast of two opaque colours as WCAG 2 defines it: from 1, equal luminances, to 21, black and white.
double contrast(ImU32 a, ImU32 b);

/// For the library's own context: it does not change the style of a host application.
void apply(ImGuiStyle& style, float scale);

/// `color` with its alpha multiplied.
ImU32 faded(ImU32 color, float alpha);

}  // namespace kinetograph::ui::theme
