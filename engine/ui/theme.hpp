// Colours and distances of the interface: dark background, one accent, one colour per lane.
#pragma once

#include <imgui.h>

#include <string_view>

namespace kinetograph::ui::theme {

inline constexpr ImU32 kGround = IM_COL32(16, 18, 23, 226);
inline constexpr ImU32 kGroundSolid = IM_COL32(16, 18, 23, 255);
inline constexpr ImU32 kRaised = IM_COL32(255, 255, 255, 14);
inline constexpr ImU32 kLine = IM_COL32(255, 255, 255, 26);
inline constexpr ImU32 kCurve = IM_COL32(255, 255, 255, 96);  ///< of many that cross each other
inline constexpr ImU32 kText = IM_COL32(232, 235, 240, 255);
inline constexpr ImU32 kMuted = IM_COL32(148, 156, 170, 255);
inline constexpr ImU32 kAccent = IM_COL32(255, 176, 84, 255);
inline constexpr ImU32 kGood = IM_COL32(126, 211, 150, 255);
inline constexpr ImU32 kBad = IM_COL32(255, 118, 108, 255);
inline constexpr ImU32 kSelected = IM_COL32(255, 255, 255, 255);  ///< no lane's colour: what was clicked

inline constexpr float kPadding = 14.0F;  ///< pixels at scale 1, as are all distances
inline constexpr float kRounding = 8.0F;

/// Colour of a track of the profiler: a lane of the graph, or another thread.
ImU32 track_color(std::string_view track);

/// Its place in the order in which a frame passes through the lanes; other tracks come last.
std::size_t track_rank(std::string_view track);

/// A colour of its own for every resource of a plan; neighbours differ.
ImU32 resource_color(std::size_t resource);

/// What text on that opaque colour is drawn in: kGroundSolid or kText, whichever stands out more.
ImU32 text_on(ImU32 color);
/// By the definition of WCAG 2: from 1, equal luminances, to 21, black and white. Of opaque colours.
double contrast(ImU32 a, ImU32 b);

/// For a context of our own: a host application's style is the host's.
void apply(ImGuiStyle& style, float scale);

/// `color` with its alpha multiplied.
ImU32 faded(ImU32 color, float alpha);

}  // namespace kinetograph::ui::theme
