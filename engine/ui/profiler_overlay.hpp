// ProfilerOverlay: where the time goes, drawn with ImGui into the current context.
#pragma once

#include <kinetograph/engine/profile/statistics.hpp>
#include <kinetograph/engine/ui/fonts.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace kinetograph::ui {

class Canvas;

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

/// When the statistics are recomputed. The timeline always shows the current spans.
enum class Statistics : std::uint8_t {
    Readable,  ///< a few times a second: for a person who reads the figures
    OfNow,     ///< with this picture: for screenshots, since a run may end before the next update
};

struct OverlayOptions {
    float x = 16.0F, y = 16.0F;  ///< upper left corner, pixels
    float scale = 1.0F;
    std::size_t table_rows = 10;  ///< passes with the largest shares; the others are summed up
    Statistics refresh = Statistics::Readable;
    Nanoseconds statistics = std::chrono::seconds(3);       ///< span of time that the table covers
    Nanoseconds timeline = std::chrono::milliseconds(400);  ///< span of time that the timeline covers
};

/// Call draw() between NewFrame() and Render() of any ImGui context, including the host application's. It neither needs
/// nor changes a style, and reads spans only from the recorder.
class ProfilerOverlay {
  public:
    explicit ProfilerOverlay(const profile::Recorder& recorder) : recorder_(recorder) {}

    /// `now` is on the host axis. If `fonts` is empty, the context's own font is used.
    void draw(const OverlayFigures& figures, Nanoseconds now, const Fonts& fonts, const OverlayOptions& options = {});

    /// Rows of the table as last drawn, largest share first.
    const std::vector<profile::PassStatistics>& passes() const { return passes_; }

  private:
    struct Cursor;  // the position of the next block
    void refresh_statistics(Nanoseconds now, const OverlayOptions& options);
    void draw_figures(Canvas& canvas, Cursor& cursor, const OverlayFigures& figures) const;
    void draw_timeline(Canvas& canvas, Cursor& cursor, Nanoseconds now, const OverlayOptions& options);
    void draw_table(Canvas& canvas, Cursor& cursor, const OverlayOptions& options) const;

    const profile::Recorder& recorder_;
    std::vector<profile::PassStatistics> passes_;
    std::vector<profile::TrackStatistics> tracks_;
    Nanoseconds refreshed_ = Nanoseconds::min();
};

}  // namespace kinetograph::ui
