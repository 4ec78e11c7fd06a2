// The compact HUD of a shipped application: three lines and a sparkline, one call, no mouse.
#pragma once

#include <kinetograph/engine/profile/profile.hpp>
#include <kinetograph/engine/ui/fonts.hpp>

namespace kinetograph::ui {

struct CompactHudOptions {
    float x = 16.0F, y = 16.0F;  ///< upper left corner, pixels
    float scale = 1.0F;
    Fonts fonts{};  ///< empty: the context's own
};

/// Frames over the last second and lows, decode and queue, the dearest pass; below, the newest frame times. Call it
/// between NewFrame() and Render() of any ImGui context, after Profile::update().
void draw_compact_hud(const profile::Profile& profile, const CompactHudOptions& options = {});

}  // namespace kinetograph::ui
