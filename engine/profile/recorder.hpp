// Recorder: spans from every clock, mapped onto the host axis, collected from any thread.
#pragma once

#include <kinetograph/engine/base/clock.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/engine/base/tool_tracks.hpp>
#include <kinetograph/engine/profile/name_table.hpp>
#include <kinetograph/engine/profile/plan_book.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// The same as it is kept: 40 bytes, names as numbers of Recorder::names().
struct SpanRecord {
    NameId name = 0, track = 0;
    PlanId plan = kNoPlan;
    Nanoseconds begin{}, end{};
    std::uint64_t execution = 0;
    Nanoseconds length() const { return end - begin; }
};

/// How well one track's clock is known.
struct TrackClock {
    NameId track = 0;
    Nanoseconds error{};     ///< of a time on the host axis
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

/// Bounded and free of locks: beyond `capacity` spans the oldest are overwritten. Any thread may add and read.
class Recorder {
  public:
    explicit Recorder(std::size_t capacity = 1U << 16U);
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    /// Interns the names. With names that are known it takes no lock and allocates nothing.
    void add(const Span& span);
    /// With names that were interned before. Takes no lock and allocates nothing.
    void add(const SpanRecord& record);

    NameTable& names() { return names_; }
    const NameTable& names() const { return names_; }
    PlanBook& plans() { return plans_; }
    const PlanBook& plans() const { return plans_; }

    /// The spans that ended at or after `since`, in the order in which they were added.
    std::vector<Span> spans(Nanoseconds since = Nanoseconds::min()) const;
    /// A reader's place: everything before it has been read.
    struct Cursor {
        std::uint64_t next = 0;
        std::uint64_t missed = 0;  ///< overwritten before they were read
    };
    /// Appends what was added since the last call with this cursor.
    void read(Cursor& cursor, std::vector<SpanRecord>& out) const;

    std::uint64_t total_added() const { return next_.load(std::memory_order_acquire); }
    /// When the earliest span since the start, or since clear(), began; none before the first. Overwritten spans count.
    std::optional<Nanoseconds> first_begin() const;
    void clear();

    /// A lane says so whenever it has compared the clocks.
    void note_clock(std::string_view track, Nanoseconds error, double drift_ppm);
    std::vector<TrackClock> clocks() const;

    /// States what was measured of a track's device.
    void note_ceiling(std::string_view track, Ceiling ceiling);
    std::vector<TrackCeiling> ceilings() const;

    /// A few a frame: this takes a lock. Bounded like the spans.
    void count(const Counter& counter, Nanoseconds time, double value);
    std::vector<CounterSample> counters() const;
    /// The last sample of every counter, in the order of their first ones.
    std::vector<CounterSample> newest_counters() const;

  private:
    struct Slot {
        /// 2 * lap + 1 while a span of that lap is written, 2 * lap + 2 once it is there; laps from 0.
        std::atomic<std::uint64_t> state{0};
        std::atomic<std::uint64_t> names{0};  ///< name, track
        std::atomic<PlanId> plan{kNoPlan};
        std::atomic<std::int64_t> begin{0}, end{0};
        std::atomic<std::uint64_t> execution{0};
    };
    enum class Read : std::uint8_t { Done, NotYet, Gone };
    Read read(std::uint64_t ticket, SpanRecord& record) const;

    NameTable names_;
    PlanBook plans_{names_};
    std::uint64_t capacity_;
    [[no_unique_address]] ToolTracks tools_;
    std::unique_ptr<Slot[]> ring_;
    std::atomic<std::uint64_t> next_{0};     ///< ticket of the next span
    std::atomic<std::uint64_t> skipped_{0};  ///< tickets up to here may have been given up
    std::atomic<std::uint64_t> cleared_{0};  ///< tickets before are forgotten
    std::atomic<std::int64_t> first_begin_;
    mutable Mutex notes_mutex_;
    std::vector<TrackClock> clocks_ KG_GUARDED_BY(notes_mutex_);      ///< a few
    std::vector<TrackCeiling> ceilings_ KG_GUARDED_BY(notes_mutex_);  ///< a few
    std::deque<CounterSample> counters_ KG_GUARDED_BY(notes_mutex_);
    std::vector<CounterSample> newest_counters_ KG_GUARDED_BY(notes_mutex_);  ///< a few
};

}  // namespace kinetograph::profile
