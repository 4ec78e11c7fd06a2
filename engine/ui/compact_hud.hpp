// The compact HUD of a shipped application: three lines and a sparkline, one call, no mouse.
#pragma once

#include <kinetograph/engine/profile/profile.hpp>
#include <kinetograph/engine/ui/fonts.hpp>

namespace kinetograph::ui {

inline constexpr float kCompactHudWidth = 260.0F;  ///< pixels at scale 1, where there is room

struct CompactHudOptions {
    float x = 16.0F, y = 16.0F;         ///< upper left corner, pixels
    float width = 0.0F, height = 0.0F;  ///< pixels that it may take; 0: to the edge of ImGui's display
    float scale = 1.0F;
    Fonts fonts{};  ///< empty: the context's own
};

/// Shows the frame rate of the last second and its lows, decode and another known part of a frame's time, and the pass
/// with the largest share; below, the newest frame times. Without room for all, it leaves out the last of these. Call
/// it once per picture, between NewFrame() and Render() of any ImGui context: it updates the profile.
void draw_compact_hud(profile::Profile& profile, Nanoseconds now, const CompactHudOptions& options = {});
/// The same without updating the profile, for one that something else updates, such as PanelHost::draw().
void draw_compact_hud(const profile::Profile& profile, const CompactHudOptions& options = {});

}  // namespace kinetograph::ui
