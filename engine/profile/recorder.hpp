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

/// One piece of work on one track (a lane, a thread), on the host axis. Spans that a recorder returns refer to its name
/// table.
struct Span {
    std::string_view name;   ///< the pass's name
    std::string_view track;  ///< "accelerator", "graphics", "host", "present", ...
    Nanoseconds begin{};     ///< host axis, clock.hpp
    Nanoseconds end{};
    std::uint64_t execution = 0;  ///< of the graph that the pass belongs to
    PlanId plan = kNoPlan;        ///< of that graph
};

/// A Span as the recorder keeps it: names are numbers of Recorder::names().
struct SpanRecord {
    NameId name = 0, track = 0;
    PlanId plan = kNoPlan;
    Nanoseconds begin{}, end{};
    std::uint64_t execution = 0;
    Nanoseconds length() const { return end - begin; }
};

/// One frame, as the application reports it. If the frame's step is named, Profile derives `decode`, `queued` and
/// `latency` from the step's spans once it is complete.
struct FrameTimes {
    std::uint64_t index = 0;
    Nanoseconds shown{};      ///< host axis: when it had been handed to the presentation engine
    Nanoseconds decode{};     ///< length of the step that made it
    Nanoseconds queued{};     ///< from the end of that step until the frame was taken for the screen
    Nanoseconds present{};    ///< recording, submitting and presenting it, until `shown`
    Nanoseconds latency{};    ///< from the beginning of that step until `shown`, as far as the application knows
    Nanoseconds on_screen{};  ///< host axis; 0: not known (see add_on_screen())
    bool late = false;        ///< shown after its time
    StepKey made_by{};        ///< the step of the decoder
    StepKey drawn_by{};       ///< the step that drew it first

    Nanoseconds taken() const { return shown - present; }  ///< when it was taken for the screen
    /// Sets decode, queued and latency from the begin and the end of the step that made the frame.
    void set_step(Nanoseconds begin, Nanoseconds end) {
        decode = end - begin;
        queued = std::max(Nanoseconds{}, taken() - end);
        latency = std::max(decode, shown - begin);
    }
    friend bool operator==(const FrameTimes&, const FrameTimes&) = default;
};

/// A frame was on the screen: of those with this index that were shown before `time`, the newest, since indices repeat
/// in a clip that loops.
struct ScreenTime {
    std::uint64_t frame = 0;  ///< FrameTimes::index
    Nanoseconds time{};       ///< host axis
    /// Another thread may see a frame on the screen before the thread that presented it has noted `shown`.
    static constexpr Nanoseconds kEarly = std::chrono::milliseconds(2);
    bool may_be_of(const FrameTimes& shown) const { return shown.index == frame && shown.shown <= time + kEarly; }
};

/// A batch's point on a timeline: the one that it signals, or one that it waits for.
struct PointRecord {
    std::uint64_t counter = 0;  ///< graph::Timeline::counter()
    std::uint64_t value = 0;
    StepKey step;
    std::uint32_t batch = kNone;  ///< PlanFacts::batches
    bool signals = false;         ///< false: the batch waits for it
};

/// How well one track's clock is known.
struct TrackClock {
    NameId track = 0;
    Nanoseconds error{};     ///< upper bound, of a time on the host axis
    double drift_ppm = 0.0;  ///< against its nominal period
};

/// The best that a track's device can do, as measured on it.
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
    std::string_view device{};  ///< the device it belongs to; empty: none
    std::string_view unit{};    ///< "MHz"; empty: a number
};

/// A counter's value at one time.
struct CounterSample {
    NameId name = 0, device = 0, unit = 0;  ///< of the Counter
    Nanoseconds time{};
    double value = 0.0;
    bool same_counter(const CounterSample& other) const { return name == other.name && device == other.device; }
};

class Recorder;

/// The name of a lane's track for as long as the lane lives: the lane's own name, or "accelerator #2" if another lane
/// of that name has it. A track stays with its device: a later lane of the same name on that device reuses it, one on
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

/// Bounded: beyond `capacity` spans the oldest are overwritten. Any thread may add and read. What a lane records for
/// every batch and pass takes no lock and allocates nothing, except for the first batches of a new plan and for new
/// names.
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
    /// Called by a lane with the batch that it submits, the timeline that counts its batches and the track of its
    /// spans. Records plans().note(), the value that the batch signals, and those that it waits for. Takes a lock where
    /// plans().note() does.
    PlanId note(const graph::BatchRecord& batch, const graph::Timeline& timeline, NameId track);
    /// Records one such point.
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
    /// When the earliest span since the start, or since clear(), began, even if it has been overwritten; none before
    /// the first.
    std::optional<Nanoseconds> first_begin() const;
    void clear();

    /// Called by a lane whenever it has compared the clocks. Takes no lock; tracks beyond kMostClocks are left out.
    void note_clock(NameId track, Nanoseconds error, double drift_ppm);
    void note_clock(std::string_view track, Nanoseconds error, double drift_ppm);
    /// In the order of their first notes. If one is being noted at the same time, its error and drift may come from two
    /// successive notes.
    std::vector<TrackClock> clocks() const;
    static constexpr std::size_t kMostClocks = 32;

    /// Sets what was measured on a track's device.
    void note_ceiling(std::string_view track, const Ceiling& ceiling);
    /// The same for all tracks that lanes of that name have, or will have, on `device` (open_track()).
    void note_ceiling(std::string_view lane, std::string_view device, const Ceiling& ceiling);
    std::vector<TrackCeiling> ceilings() const;

    /// For a few calls per frame: takes a lock. Bounded like the spans.
    void count(const Counter& counter, Nanoseconds time, double value);
    std::vector<CounterSample> counters() const;
    /// The last sample of every counter, in the order of their first ones.
    std::vector<CounterSample> newest_counters() const;
    /// The last sample of every counter until `time`, in no particular order.
    std::vector<CounterSample> counters_at(Nanoseconds time) const;

    /// Called by an application for each frame that it has presented. Takes a lock. Bounded like the spans.
    void add_frame(const FrameTimes& frame);
    void add_on_screen(const ScreenTime& time);
    std::vector<FrameTimes> frames() const;
    std::vector<ScreenTime> screen_times() const;
    /// A reader's position in both lists.
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
