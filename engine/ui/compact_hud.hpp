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

/// Frames over the last second and lows, decode and what else is told of a frame's time, the dearest pass; below, the
/// newest frame times. One call a picture, between NewFrame() and Render() of any ImGui context: updates the profile.
void draw_compact_hud(profile::Profile& profile, Nanoseconds now, const CompactHudOptions& options = {});
/// The same of a profile as it stands, which something else updates: PanelHost::draw(), for example.
void draw_compact_hud(const profile::Profile& profile, const CompactHudOptions& options = {});

}  // namespace kinetograph::ui
