// RunnerLoad: what clips that share a runner want of its device, whether a further one fits, and which of them are held
// back where they want too much.
#pragma once

#include <kinetograph/compute/vae/step_shape.hpp>
#include <kinetograph/engine/base/clock.hpp>
#include <kinetograph/engine/base/log.hpp>
#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kinetograph::vae {

/// What a clip asks of a runner that it shares.
struct ClipTerms {
    LatentSize size{};
    double fps = 24;          ///< above 0
    std::int64_t frames = 1;  ///< of a step that is not the clip's first
    bool background = false;
    Nanoseconds shown() const;  ///< the time that the frames of such a step take to show
};

/// How clips in the background are held back: the stages of overload, in their order.
enum class HeldBack : std::uint8_t {
    No,
    Skipped,  ///< a step goes when no visible clip's step waits
    Half,     ///< and at half of the clip's rate at most
    Quarter,
    Eighth,
};
std::string_view to_string(HeldBack stage);

/// Times of steps until a reader got the first of their frames.
struct Latency {
    std::uint64_t steps = 0;
    Nanoseconds sum{}, longest{}, newest{};
    void add(Nanoseconds time);
};

struct ClipLatencies {
    Latency pushed{};           ///< since the latents were pushed
    Latency input{};            ///< since the input for which they were made, where that is stated
    Nanoseconds first_frame{};  ///< since the push of the first latents after the last restart; 0: not known
};

/// What a clip met at the runner that it shares (StepOptions::share), since it was made.
struct ClipFigures {
    std::uint64_t number = 0;  ///< of the clip at the runner, from 1; 0: it shares none
    ClipTerms terms{};
    std::uint64_t state_bytes = 0;  ///< StackMemory::state()
    std::uint64_t frames = 0;       ///< decoded
    Nanoseconds busy{};             ///< of the device, for its steps
    ClipLatencies latencies{};
    std::uint64_t steps = 0, misses = 0;  ///< enqueued; of those that are done, done after they were due
    Nanoseconds waited{}, longest{};      ///< for the turn, in sum, and at most
    HeldBack held_back = HeldBack::No;    ///< now; only in the background
    std::uint64_t steps_held_back = 0;    ///< that were skipped or put off
};

struct RunnerFigures {
    std::vector<ClipFigures> clips{};
    double demand = 0;  ///< seconds of the device a second that clips want, as far as they were measured
    HeldBack stage = HeldBack::No;
};

/// Of a device's memory.
struct ClipBytes {
    std::uint64_t needed = 0;  ///< by a clip, with what of its model is not loaded yet
    std::uint64_t free = 0;    ///< or left of the budget
};

/// Whether a further clip fits.
struct Admission {
    std::string device{};  ///< its name
    ClipTerms terms{};
    ClipBytes bytes{};
    /// Of the device, a second: wanted by the clip, and by the visible clips that are open. Nothing: no step of the
    /// model has been measured. Those of clips in the background are not counted: they take what is left.
    std::optional<double> needed_seconds{};
    double taken_seconds = 0;
    std::size_t visible_clips = 0;
    LatentSize measured{};  ///< of the steps from which the seconds are known, by their pixels

    bool has_bytes() const { return bytes.needed <= bytes.free; }
    bool has_seconds() const { return terms.background || !needed_seconds || *needed_seconds + taken_seconds <= 1; }
    bool fits() const { return has_bytes() && has_seconds(); }
    /// Both figures, and what to do where it does not fit.
    std::string sentence() const;
    /// Errors: OutOfMemory, also where only the device's time is short: the sentence says which.
    Result<void> check() const;
};

/// Demand is a clip's rate times what a frame takes of the device, as its steps of that size were measured; of a clip
/// that has asked for a step in the last second, or in a step's time. Overload: all demands together are above a second
/// a second, or a visible clip's step was done after it was due in the last second. By rule then
///
///   1. clips in the background are skipped (HeldBack::Skipped);
///   2. a second later, if a visible clip still is late, their rates are lowered: to a half, a quarter, an eighth;
///   3. visible clips are not held back: they have parts of the device by their weights.
///
/// A stage is taken back after two seconds without a late step of a visible clip, the first once there is no overload.
/// The log says when overload begins, each further stage, and when it is over. No clip stops for ever: a step that has
/// been skipped for eight times the time its frames show takes its place in the queue. Thread-safe; times are of the
/// host's axis.
class RunnerLoad {
  public:
    using Number = std::uint64_t;

    Number join(const ClipTerms& terms, const Log& log);
    /// Errors: those of Admission::check.
    Result<Number> join_if_fits(const ClipTerms& terms, const ClipBytes& bytes, const std::string& device,
                                const Log& log);
    void leave(Number clip);
    Admission admission(const ClipTerms& terms, const ClipBytes& bytes, const std::string& device) const;

    /// The clip's next step could begin.
    void ask(Number clip, Nanoseconds now);
    /// When a step that could begin at `asked` may ask for its turn, and whether visible clips' steps then go first.
    struct Turn {
        Nanoseconds from{};
        bool is_skipped = false;
        friend bool operator==(const Turn&, const Turn&) = default;
    };
    Turn turn(Number clip, Nanoseconds asked, Nanoseconds now);
    /// A step has been enqueued, after it waited so long; `held_back`: for another reason than the queue's order.
    void enqueued(Number clip, Nanoseconds now, Nanoseconds waited, bool held_back);
    /// A step is done.
    struct Done {
        Nanoseconds begin{}, end{}, due{};
        std::int64_t frames = 0;
        bool is_first = false;  ///< of a clip: less work than the others, and its lateness is no overload
    };
    void done(Number clip, const Done& step);

    void note_state(Number clip, std::uint64_t bytes);
    void note_latencies(Number clip, const ClipLatencies& latencies);
    ClipFigures figures(Number clip, Nanoseconds now);
    RunnerFigures figures(Nanoseconds now);

  private:
    struct Clip {
        ClipFigures figures;
        Nanoseconds asked = Nanoseconds::min(), turn{};
        Log log;
    };
    struct Measured {
        LatentSize size;
        double seconds = 0;  ///< of the device, a frame
        std::int64_t steps = 0;
    };
    Admission admission_locked(const ClipTerms& terms, const ClipBytes& bytes, const std::string& device) const
        KG_REQUIRES(mutex_);
    const Measured* nearest(LatentSize size) const KG_REQUIRES(mutex_);
    double demand_of(const ClipTerms& terms) const KG_REQUIRES(mutex_);
    double demand_locked(Nanoseconds now) const KG_REQUIRES(mutex_);
    void measure(const Clip& clip, const Done& step) KG_REQUIRES(mutex_);
    void follow(Nanoseconds now) KG_REQUIRES(mutex_);
    void enter(HeldBack stage, Nanoseconds now) KG_REQUIRES(mutex_);
    void log_overload(double demand) const KG_REQUIRES(mutex_);
    std::size_t in_background() const KG_REQUIRES(mutex_);
    ClipFigures figures_locked(const Clip& clip) const KG_REQUIRES(mutex_);

    mutable Mutex mutex_;
    std::map<Number, Clip> clips_ KG_GUARDED_BY(mutex_);
    Number newest_ KG_GUARDED_BY(mutex_) = 0;
    std::vector<Measured> measured_ KG_GUARDED_BY(mutex_);
    HeldBack stage_ KG_GUARDED_BY(mutex_) = HeldBack::No;
    HeldBack furthest_ KG_GUARDED_BY(mutex_) = HeldBack::No;  ///< since the overload began: said in the log
    Nanoseconds changed_ KG_GUARDED_BY(mutex_){};             ///< when the stage did
    std::optional<Nanoseconds> late_ KG_GUARDED_BY(mutex_);   ///< the end of the newest late step of a visible clip
};

}  // namespace kinetograph::vae
