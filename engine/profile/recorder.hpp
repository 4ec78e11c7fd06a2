// Recorder: spans from every clock, mapped onto the host axis, collected from any thread.
#pragma once

#include <kinetograph/engine/base/clock.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/engine/base/tool_tracks.hpp>
#include <kinetograph/engine/profile/name_table.hpp>
#include <kinetograph/engine/profile/plan_book.hpp>
#include <kinetograph/engine/profile/record_ring.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kinetograph::graph {
class Timeline;
}

namespace kinetograph::profile {

/// One piece of work on one track (a lane, a thread), on the host axis. What a recorder returns refers to its names.
struct Span {
    std::string_view name;   ///< the pass's name
    std::string_view track;  ///< "accelerator", "graphics", "host", "present", ...
    Nanoseconds begin{};     ///< host axis, clock.hpp
    Nanoseconds end{};
    std::uint64_t execution = 0;  ///< of the graph that the pass belongs to
    PlanId plan = kNoPlan;        ///< of that graph
};

/// The same as it is kept: names as numbers of Recorder::names().
struct SpanRecord {
    NameId name = 0, track = 0;
    PlanId plan = kNoPlan;
    Nanoseconds begin{}, end{};
    std::uint64_t execution = 0;
    Nanoseconds length() const { return end - begin; }
};

/// One frame of the application, as it tells. `decode`, `queued` and `latency` of a frame whose step is named are those
/// of that step: Profile works them out once the step's spans are there.
struct FrameTimes {
    std::uint64_t index = 0;
    Nanoseconds shown{};      ///< host axis: when it had been handed to the presentation engine
    Nanoseconds decode{};     ///< length of the step that made it
    Nanoseconds queued{};     ///< from the end of that step until it was taken for the screen
    Nanoseconds present{};    ///< of recording, submitting and presenting it: until `shown`
    Nanoseconds latency{};    ///< from the begin of that step until `shown`, as far as the application knows
    Nanoseconds on_screen{};  ///< host axis; 0: not known (add_on_screen() tells)
    bool late = false;        ///< after its time
    StepKey made_by{};        ///< the step of the decoder
    StepKey drawn_by{};       ///< the step that drew it first

    Nanoseconds taken() const { return shown - present; }  ///< for the screen
    /// From the begin and the end of the step that made it, which was decoded in between.
    void set_step(Nanoseconds begin, Nanoseconds end) {
        decode = end - begin;
        queued = std::max(Nanoseconds{}, taken() - end);
        latency = std::max(decode, shown - begin);
    }
    friend bool operator==(const FrameTimes&, const FrameTimes&) = default;
};

/// One of those frames was on the screen: the newest of that index which was shown before. In a clip that loops the
/// indices begin again.
struct ScreenTime {
    std::uint64_t frame = 0;  ///< FrameTimes::index
    Nanoseconds time{};       ///< host axis
    /// Another thread may see a frame on the screen before the one that handed it over goes on and tells.
    static constexpr Nanoseconds kEarly = std::chrono::milliseconds(2);
    bool may_be_of(const FrameTimes& shown) const { return shown.index == frame && shown.shown <= time + kEarly; }
};

/// A batch's point on a timeline: the one that it signals, or one that it waits for.
struct PointRecord {
    std::uint64_t counter = 0;  ///< graph::Timeline::counter()
    std::uint64_t value = 0;
    StepKey step;
    std::uint32_t batch = kNone;  ///< PlanFacts::batches
    bool signals = false;         ///< else it waits
};

/// How well one track's clock is known.
struct TrackClock {
    NameId track = 0;
    Nanoseconds error{};     ///< of a time on the host axis, at most
    double drift_ppm = 0.0;  ///< against its nominal period
};

/// What a track's device can do at best, as measured on it.
struct Ceiling {
    double operations_per_second = 0.0, bytes_per_second = 0.0;  ///< 0: not known
    std::string source{};                                        ///< which measurement
    friend bool operator==(const Ceiling&, const Ceiling&) = default;
};
struct TrackCeiling {
    NameId track = 0;
    Ceiling ceiling;
};

/// What is counted: the depth of a queue, a device's clock.
struct Counter {
    std::string_view name;
    std::string_view device{};  ///< of which device; empty: of none
    std::string_view unit{};    ///< "MHz"; empty: a number
};

/// A value at a time.
struct CounterSample {
    NameId name = 0, device = 0, unit = 0;  ///< of the Counter
    Nanoseconds time{};
    double value = 0.0;
    bool same_counter(const CounterSample& other) const { return name == other.name && device == other.device; }
};

class Recorder;

/// What a lane calls its spans' track, as long as it lives: its own name, or "accelerator #2" where another lane of
/// that name has it. A track stays with its device: a later lane of the name on that device takes it again, one on
/// another device never does.
class LaneTrack {
  public:
    LaneTrack() = default;
    LaneTrack(LaneTrack&& other) noexcept
        : recorder_(std::exchange(other.recorder_, nullptr)), name_(std::exchange(other.name_, 0)) {}
    LaneTrack& operator=(LaneTrack&& other) noexcept;
    ~LaneTrack();
    NameId name() const { return name_; }

  private:
    friend class Recorder;
    LaneTrack(Recorder& recorder, NameId name) : recorder_(&recorder), name_(name) {}
    Recorder* recorder_ = nullptr;  ///< outlives it
    NameId name_ = 0;
};

/// Bounded: beyond `capacity` spans the oldest are overwritten. Any thread may add and read. What a lane does for every
/// batch and pass takes no lock and allocates nothing, but for the first batches of a new plan and for new names.
class Recorder {
  public:
    explicit Recorder(std::size_t capacity = 1U << 16U);
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    /// Interns the names. With names that are known it takes no lock and allocates nothing.
    void add(const Span& span);
    /// With names that were interned before. Takes no lock and allocates nothing.
    void add(const SpanRecord& record);

    /// The track of a lane of that name on `device`, any text that tells devices apart. Takes a lock.
    LaneTrack open_track(std::string_view lane, std::string_view device);
    /// A lane says which batch it submits, on which track its spans are, and that `timeline` counts its batches:
    /// plans().note(), the value that the batch signals, and those that it waits for. Takes a lock where plans().note()
    /// does.
    PlanId note(const graph::BatchRecord& batch, const graph::Timeline& timeline, NameId track);
    /// The same of one point.
    void note(const PointRecord& point);

    NameTable& names() { return names_; }
    const NameTable& names() const { return names_; }
    PlanBook& plans() { return plans_; }
    const PlanBook& plans() const { return plans_; }

    /// The spans that ended at or after `since`, in the order in which they were added.
    std::vector<Span> spans(Nanoseconds since = Nanoseconds::min()) const;
    using Cursor = RingCursor;
    /// Appends what was added since the last call with this cursor.
    void read(Cursor& cursor, std::vector<SpanRecord>& out) const;
    void read(Cursor& cursor, std::vector<PointRecord>& out) const;

    std::uint64_t total_added() const { return spans_.total_added(); }
    /// When the earliest span since the start, or since clear(), began; none before the first. Overwritten spans count.
    std::optional<Nanoseconds> first_begin() const;
    void clear();

    /// A lane says so whenever it has compared the clocks. Takes no lock; tracks beyond kMostClocks are left out.
    void note_clock(NameId track, Nanoseconds error, double drift_ppm);
    void note_clock(std::string_view track, Nanoseconds error, double drift_ppm);
    /// In the order of their first notes. While one is noted, its error and its drift may be of successive notes.
    std::vector<TrackClock> clocks() const;
    static constexpr std::size_t kMostClocks = 32;

    /// States what was measured of a track's device.
    void note_ceiling(std::string_view track, const Ceiling& ceiling);
    /// The same of all tracks that lanes of that name have, and will have, on `device` (open_track()).
    void note_ceiling(std::string_view lane, std::string_view device, const Ceiling& ceiling);
    std::vector<TrackCeiling> ceilings() const;

    /// A few a frame: this takes a lock. Bounded like the spans.
    void count(const Counter& counter, Nanoseconds time, double value);
    std::vector<CounterSample> counters() const;
    /// The last sample of every counter, in the order of their first ones.
    std::vector<CounterSample> newest_counters() const;
    /// The last one of every counter until `time`, in no order.
    std::vector<CounterSample> counters_at(Nanoseconds time) const;

    /// An application says which frame it has presented: this takes a lock. Bounded like the spans.
    void add_frame(const FrameTimes& frame);
    void add_on_screen(const ScreenTime& time);
    std::vector<FrameTimes> frames() const;
    std::vector<ScreenTime> screen_times() const;
    /// A reader's place among both.
    struct FrameCursor {
        std::uint64_t frames = 0, times = 0;
    };
    /// Appends what was added since the last call with this cursor.
    void read(FrameCursor& cursor, std::vector<FrameTimes>& frames, std::vector<ScreenTime>& times) const;

  private:
    friend class LaneTrack;
    /// What open_track() gives to one lane at a time.
    struct TrackSlot {
        NameId track = 0;
        std::string lane, device;
        bool is_open = false;
        bool is_of(std::string_view of_lane, std::string_view of_device) const {
            return lane == of_lane && device == of_device;
        }
    };
    TrackSlot& add_track(std::string_view lane, std::string_view device) KG_REQUIRES(notes_mutex_);
    void set_ceiling(NameId track, const Ceiling& ceiling) KG_REQUIRES(notes_mutex_);
    void close(NameId track);

    struct ClockSlot {
        std::atomic<NameId> track{0};  ///< 0: unused
        std::atomic<std::int64_t> error{0};
        std::atomic<double> drift_ppm{0.0};
    };

    NameTable names_;
    PlanBook plans_{names_};
    [[no_unique_address]] ToolTracks tools_;
    RecordRing<5> spans_;   ///< name and track, plan, begin, end, execution
    RecordRing<4> points_;  ///< counter, value, execution, and plan with batch
    std::atomic<std::int64_t> first_begin_;
    std::array<ClockSlot, kMostClocks> clocks_;
    mutable Mutex notes_mutex_;
    std::vector<TrackSlot> tracks_ KG_GUARDED_BY(notes_mutex_);       ///< as many as lanes were open at once
    std::vector<TrackCeiling> ceilings_ KG_GUARDED_BY(notes_mutex_);  ///< a few
    std::deque<CounterSample> counters_ KG_GUARDED_BY(notes_mutex_);
    std::vector<CounterSample> newest_counters_ KG_GUARDED_BY(notes_mutex_);  ///< a few
    std::deque<FrameTimes> frames_ KG_GUARDED_BY(notes_mutex_);
    std::deque<ScreenTime> screen_times_ KG_GUARDED_BY(notes_mutex_);
    std::uint64_t frames_added_ KG_GUARDED_BY(notes_mutex_) = 0, times_added_ KG_GUARDED_BY(notes_mutex_) = 0;
};

}  // namespace kinetograph::profile
