// Hud: what the viewer writes over the picture: waiting, status, messages, help. The profiler is
// ui::draw_profiler_overlay().
#pragma once

#include <kinetograph/engine/ui/fonts.hpp>
#include <kinetograph/samples/viewer/picture_layout.hpp>
#include <kinetograph/samples/viewer/player.hpp>

#include <optional>
#include <string>

namespace kinetograph::viewer {

struct HudView {
    std::uint32_t width = 0, height = 0;  ///< of the target, pixels
    float scale = 1.0F;
    ui::Fonts fonts;
    Nanoseconds now{};
    Nanoseconds lag{};                ///< SourceStats::latencies.pushed.newest
    std::optional<PixelValue> pixel;  ///< under the pointer
};

/// Draws into the current ImGui context, between NewFrame() and Render(); returns the height that is left above, in
/// pixels, for the profiler: 0 while the help fills the picture. What there is no room for is left out, the least
/// important first.
float draw_hud(const Player& player, const HudView& view);

/// "decoding first frame ... 1.2 s": for the picture and for the window's title.
std::string waiting_text(const Player& player, Nanoseconds waited);

/// "generator 15.2 fps · lag 0.31 s", or that the stream has ended.
std::string live_text(const live::LiveStats& stats, Nanoseconds lag);

/// "0:02.54"
std::string clip_time(Nanoseconds time);

}  // namespace kinetograph::viewer
