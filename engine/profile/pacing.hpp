// Pacing: when an application showed its frames, and where the time of each went.
#pragma once

#include <kinetograph/engine/profile/duration_sketch.hpp>
#include <kinetograph/engine/profile/recorder.hpp>

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kinetograph::profile {

struct LateFrame {
    std::uint64_t index = 0;
    Nanoseconds shown{};
    /// The pass that exceeded its median most in the steps that made and drew this frame; 0: the application has not
    /// named these steps, or they are gone.
    NameId pass = 0, track = 0;
    Nanoseconds excess{};
    StepKey step{};  ///< in which `pass` ran
};

/// A snapshot of the pacing.
struct PacingFigures {
    std::uint64_t frames = 0, late = 0;
    double rate = 0.0, low_1_percent = 0.0, low_01_percent = 0.0;      ///< frames a second
    Nanoseconds interval{}, decode{}, queued{}, present{}, latency{};  ///< medians
    std::vector<FrameTimes> newest{};                                  ///< kMostFrames, oldest first
    static constexpr std::size_t kMostFrames = 120;
};

class Pacing {
  public:
    std::uint64_t frames = 0, late = 0;
    Nanoseconds first_frame{};                                   ///< from the profile's start to the first frame shown
    DurationSketch intervals, decode, queued, present, latency;  ///< all but the first frame's
    DurationSketch display;                                      ///< from FrameTimes::shown to the screen
    DurationSketch to_screen;                                    ///< from the enqueuing of the latents to the screen
    std::string screen_source;          ///< what reports when frames are on the screen; empty: nothing does
    std::deque<FrameTimes> newest;      ///< kMostFrames; without decode, queued and latency until the step is complete
    std::deque<LateFrame> late_frames;  ///< kMostLate, in the order in which their steps were complete
    static constexpr std::size_t kMostFrames = 512, kMostLate = 64;
    static constexpr Nanoseconds kRecent = std::chrono::seconds(1);

    /// Frames per second that all but the slowest fraction `part` of the frames reach: low(0.01) is the "1 % low".
    double low(double part) const;
    /// Frames per second over the last kRecent before `now`, or over the newest two frames if those are further apart.
    /// Falls while nothing is shown.
    double rate(Nanoseconds now) const;
    PacingFigures figures() const;

    /// Adds a frame that was shown after all frames added so far.
    void add(const FrameTimes& frame, Nanoseconds started);
    /// Notes when one of the `newest` frames was on the screen; a time of any other frame is ignored.
    void add(const ScreenTime& time);
    /// Called for frames that wait for their steps, in order: sets the frame's figures and returns what made it late,
    /// or nothing if the steps are not complete yet. With `give_up` the frame is not asked about again: `most` newer
    /// ones go on waiting.
    using Resolve = std::function<std::optional<LateFrame>(FrameTimes& frame, bool give_up)>;
    void resolve(std::size_t most, const Resolve& resolve);

  private:
    struct Waiting {
        std::uint64_t number = 0;  ///< from 0, of the frames added
        FrameTimes frame;
    };
    void note(const Waiting& resolved, const LateFrame& late);

    std::deque<Waiting> waiting_;  // kMostFrames
};

}  // namespace kinetograph::profile
