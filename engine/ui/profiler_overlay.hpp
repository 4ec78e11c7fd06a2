// The profiler's overlay: where the time goes, drawn with ImGui into the current context.
#pragma once

#include <kinetograph/engine/profile/profile.hpp>
#include <kinetograph/engine/ui/fonts.hpp>

#include <cstdint>
#include <string>

namespace kinetograph::ui {

/// What the application knows and a recorder does not.
struct OverlayFigures {
    std::string title;                                ///< what decodes where: "Wan 2.1 · bf16 · cpu"
    std::string hint{};                               ///< a hint at the right of the title: "P panels"
    double fps = 0.0;                                 ///< frames shown per second
    double real_time_factor = 0.0;                    ///< seconds of clip per second of decoding
    std::size_t queue_depth = 0, queue_capacity = 0;  ///< decoded frames waiting
    Nanoseconds step{};                               ///< latency of the last decoder step
    Nanoseconds frame_age{};                          ///< time from decoded to shown
    std::uint64_t late = 0;                           ///< frames shown after their time
    std::uint64_t dropped = 0;                        ///< frames never shown
};

struct OverlayOptions {
    float x = 16.0F, y = 16.0F;         ///< upper left corner, pixels
    float width = 0.0F, height = 0.0F;  ///< pixels that it may take; 0: to the edge of ImGui's display
    float scale = 1.0F;
    std::size_t table_rows = 10;  ///< passes with the largest shares; the others are summed up
    Nanoseconds timeline = std::chrono::milliseconds(400);  ///< span of time that the timeline covers
};

/// Shows the application's figures, the timeline until `now` on the host axis, the load of every lane, and the passes
/// with the largest shares of the profile's window. What there is no room for is left out: first passes and columns of
/// the table, then lanes, at last all but the frames per second. Call it between NewFrame() and Render() of any ImGui
/// context, including the host application's: it neither needs nor changes a style. The profile is one that something
/// else updates. If `fonts` is empty, the context's own font is used.
void draw_profiler_overlay(const profile::Profile& profile, const OverlayFigures& figures, Nanoseconds now,
                           const Fonts& fonts, const OverlayOptions& options = {});

}  // namespace kinetograph::ui
