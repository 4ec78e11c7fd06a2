// Playback: which decoded frame to show now. Pure: time and frames come from the caller.
#pragma once

#include <kinetograph/samples/viewer/frame.hpp>

#include <deque>
#include <functional>
#include <optional>

namespace kinetograph::viewer {

struct PlaybackOptions {
    double fps = 24.0;
    std::size_t kept = 8;  ///< frames held at once, for stepping back; >= 1
};

struct PlaybackCounters {
    std::uint64_t shown = 0;    ///< frames shown, each once when reached
    std::uint64_t late = 0;     ///< shown more than one refresh after their time
    std::uint64_t dropped = 0;  ///< passed over, because more than one was due in one refresh at this speed
};

/// Keeps the clip's own rate. A frame that is not decoded in time is shown late, once, and counted; the frames after
/// it keep their distance. Only where the display is slower than the clip at the chosen speed are frames passed over,
/// and counted.
class Playback {
  public:
    /// Gives the next frame of the clip, or nothing if none is decoded yet.
    using Pull = std::function<Result<std::optional<Frame>>()>;

    explicit Playback(const PlaybackOptions& options) : options_(options) {}

    /// Moves on to the time `now`; `refresh` is the time between two pictures of the display. True if another frame is
    /// current now. Errors: those of `pull`.
    Result<bool> advance(Nanoseconds now, Nanoseconds refresh, const Pull& pull);

    /// The frame to show; null before the first. Valid until the next advance() or step_back().
    const Frame* current() const { return frames_.empty() ? nullptr : &frames_[cursor_]; }

    bool playing() const { return playing_; }
    void set_playing(bool playing) { playing_ = playing; }
    /// Shows the next frame, decoded or from the ring, as soon as there is one; pauses.
    void step_forward();
    /// Shows the frame before; pauses. False at the oldest frame kept.
    bool step_back();
    double speed() const { return speed_; }
    void set_speed(double speed) { speed_ = speed; }  ///< factor, > 0
    /// Empties the ring: earlier frames cannot be stepped back to.
    void clear();

    bool starving() const { return starving_; }  ///< the next frame is due, but not decoded
    const PlaybackCounters& counters() const { return counters_; }
    bool at_newest() const { return frames_.empty() || cursor_ + 1 == frames_.size(); }

  private:
    Nanoseconds period() const;
    Result<bool> take_next(const Pull& pull);
    Result<bool> show_at_once(Nanoseconds now, const Pull& pull);
    Result<bool> show_due(Nanoseconds now, Nanoseconds refresh, const Pull& pull);
    void trim();

    PlaybackOptions options_;
    std::deque<Frame> frames_;
    std::size_t cursor_ = 0;
    bool playing_ = true;
    bool step_pending_ = false;
    bool starving_ = false;
    double speed_ = 1.0;
    Nanoseconds due_{};      // of the next frame
    bool anchored_ = false;  // due_ is meaningful
    PlaybackCounters counters_;
};

}  // namespace kinetograph::viewer
