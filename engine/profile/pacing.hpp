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
    /// What exceeded its median most in the steps that made and drew this frame; 0: the application has not named its
    /// steps, or they are gone.
    NameId pass = 0, track = 0;
    Nanoseconds excess{};
    StepKey step{};  ///< in which `pass` ran
};

/// What a picture says of the pacing at one time.
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
    DurationSketch to_screen;                                    ///< from the latents' enqueuing to the screen
    std::string screen_source;          ///< what tells when frames are on the screen; empty: nothing does
    std::deque<FrameTimes> newest;      ///< kMostFrames; without decode, queued and latency until its step is there
    std::deque<LateFrame> late_frames;  ///< kMostLate, by the time at which their steps were there
    static constexpr std::size_t kMostFrames = 512, kMostLate = 64;
    static constexpr Nanoseconds kRecent = std::chrono::seconds(1);

    /// Frames that all but the slowest `part` of the frames keep up, a second.
    double low(double part) const;
    /// Frames a second over the last kRecent before `now`, or over the newest two where those are further apart. Sinks
    /// while nothing is shown.
    double rate(Nanoseconds now) const;
    PacingFigures figures() const;

    /// A frame that was shown after those before it.
    void add(const FrameTimes& frame, Nanoseconds started);
    /// One of the newest frames, which has been added, was on the screen. Another is left out.
    void add(const ScreenTime& time);
    /// For frames that wait for their steps, in order: sets their figures and tells what made them late, or nothing if
    /// the steps are not there yet. `give_up`: the frame comes no more, because `most` others may go on to wait.
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
