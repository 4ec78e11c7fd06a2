#include <kinetograph/engine/graph/executor.hpp>
#include <kinetograph/engine/profile/recorder.hpp>

#include <algorithm>
#include <limits>
#include <span>

namespace kinetograph::profile {
namespace {

constexpr std::int64_t kNothingYet = std::numeric_limits<std::int64_t>::max();
constexpr std::uint32_t kNoBatch = kNone >> 1U;  // 31 bits: one bit of the word says whether the point is a signal

}  // namespace

Recorder::Recorder(std::size_t capacity) : spans_(capacity), points_(spans_.capacity()), first_begin_(kNothingYet) {}

void Recorder::add(const Span& span) {
    add(SpanRecord{names_.intern(span.name), names_.intern(span.track), span.plan, span.begin, span.end,
                   span.execution});
}

void Recorder::add(const SpanRecord& record) {
    if constexpr (ToolTracks::kEnabled)
        tools_.add(record.track, names_.text(record.track), names_.text(record.name), record.begin, record.end);
    const std::int64_t begin = record.begin.count();
    for (std::int64_t first = first_begin_.load(std::memory_order_relaxed);
         begin < first && !first_begin_.compare_exchange_weak(first, begin, std::memory_order_relaxed);) {
    }
    spans_.add({std::uint64_t{record.name} << 32U | record.track, record.plan, static_cast<std::uint64_t>(begin),
                static_cast<std::uint64_t>(record.end.count()), record.execution});
}

void Recorder::read(Cursor& cursor, std::vector<SpanRecord>& out) const {
    spans_.read(cursor, [&](const RecordRing<5>::Words& words) {
        out.push_back({.name = static_cast<NameId>(words[0] >> 32U),
                       .track = static_cast<NameId>(words[0] & 0xffffffffU),
                       .plan = static_cast<PlanId>(words[1]),
                       .begin = Nanoseconds(static_cast<std::int64_t>(words[2])),
                       .end = Nanoseconds(static_cast<std::int64_t>(words[3])),
                       .execution = words[4]});
    });
}

LaneTrack::~LaneTrack() {
    if (recorder_ != nullptr) recorder_->close(name_);
}

LaneTrack& LaneTrack::operator=(LaneTrack&& other) noexcept {
    std::swap(recorder_, other.recorder_);
    std::swap(name_, other.name_);
    return *this;
}

LaneTrack Recorder::open_track(std::string_view lane, std::string_view device) {
    const Lock lock(notes_mutex_);
    const auto unused =
        std::ranges::find_if(tracks_, [&](const TrackSlot& slot) { return !slot.is_open && slot.is_of(lane, device); });
    TrackSlot& slot = unused != tracks_.end() ? *unused : add_track(lane, device);
    slot.is_open = true;
    return {*this, slot.track};
}

Recorder::TrackSlot& Recorder::add_track(std::string_view lane, std::string_view device) {
    const auto others = std::ranges::count(tracks_, lane, &TrackSlot::lane);
    const NameId track = names_.intern(others == 0 ? std::string(lane) : fmt::format("{} #{}", lane, others + 1));
    const auto sibling = std::ranges::find_if(tracks_, [&](const TrackSlot& slot) { return slot.is_of(lane, device); });
    if (sibling != tracks_.end()) {
        const auto known = std::ranges::find(ceilings_, sibling->track, &TrackCeiling::track);
        if (known != ceilings_.end()) set_ceiling(track, Ceiling(known->ceiling));
    }
    tracks_.push_back({.track = track, .lane = std::string(lane), .device = std::string(device)});
    return tracks_.back();
}

void Recorder::close(NameId track) {
    const Lock lock(notes_mutex_);
    std::ranges::find(tracks_, track, &TrackSlot::track)->is_open = false;
}

PlanId Recorder::note(const graph::BatchRecord& batch, const graph::Timeline& timeline, NameId track) {
    PointRecord point{.step = {plans_.note(batch, track), batch.execution}, .batch = PlanBook::index_of(batch)};
    const auto note_all = [&](const graph::Timeline& counted, std::uint64_t value) {
        point.value = value;
        counted.visit_counters([&](std::uint64_t counter) {
            point.counter = counter;
            note(point);
        });
    };
    for (const std::span points : {batch.points, batch.reached})
        for (const graph::Point& each : points)
            if (each.timeline != nullptr && each.value > 0) note_all(*each.timeline, each.value);
    for (const graph::ResolvedWait& wait : batch.waits) note_all(*wait.lane->timeline(), wait.value);
    point.signals = true;
    note_all(timeline, batch.signal);
    return point.step.plan;
}

void Recorder::note(const PointRecord& point) {
    const std::uint64_t batch = point.batch & kNoBatch;
    points_.add({point.counter, point.value, point.step.execution,
                 std::uint64_t{point.step.plan} << 32U | batch << 1U | (point.signals ? 1U : 0U)});
}

void Recorder::read(Cursor& cursor, std::vector<PointRecord>& out) const {
    points_.read(cursor, [&](const RecordRing<4>::Words& words) {
        const std::uint32_t batch = static_cast<std::uint32_t>(words[3] & 0xffffffffU) >> 1U;
        out.push_back({.counter = words[0],
                       .value = words[1],
                       .step = {static_cast<PlanId>(words[3] >> 32U), words[2]},
                       .batch = batch == kNoBatch ? kNone : batch,
                       .signals = words[3] % 2 != 0});
    });
}

std::vector<Span> Recorder::spans(Nanoseconds since) const {
    std::vector<SpanRecord> records;
    Cursor cursor;
    read(cursor, records);
    std::vector<Span> result;
    result.reserve(records.size());
    for (const SpanRecord& record : records)
        if (record.end >= since)
            result.push_back({names_.text(record.name), names_.text(record.track), record.begin, record.end,
                              record.execution, record.plan});
    return result;
}

std::optional<Nanoseconds> Recorder::first_begin() const {
    const std::int64_t first = first_begin_.load(std::memory_order_relaxed);
    if (first == kNothingYet) return std::nullopt;
    return Nanoseconds(first);
}

void Recorder::clear() {
    spans_.clear();
    points_.clear();
    first_begin_.store(kNothingYet, std::memory_order_relaxed);
}

void Recorder::note_clock(std::string_view track, Nanoseconds error, double drift_ppm) {
    note_clock(names_.intern(track), error, drift_ppm);
}

void Recorder::note_clock(NameId track, Nanoseconds error, double drift_ppm) {
    for (ClockSlot& slot : clocks_) {
        NameId known = slot.track.load(std::memory_order_acquire);
        if (known == 0 && slot.track.compare_exchange_strong(known, track, std::memory_order_acq_rel)) known = track;
        if (known != track) continue;
        slot.error.store(error.count(), std::memory_order_relaxed);
        slot.drift_ppm.store(drift_ppm, std::memory_order_relaxed);
        return;
    }
}

void Recorder::count(const Counter& counter, Nanoseconds time, double value) {
    const CounterSample sample{names_.intern(counter.name), names_.intern(counter.device), names_.intern(counter.unit),
                               time, value};
    const Lock lock(notes_mutex_);
    if (counters_.size() == spans_.capacity()) counters_.pop_front();
    counters_.push_back(sample);
    const auto known =
        std::ranges::find_if(newest_counters_, [&](const auto& other) { return other.same_counter(sample); });
    if (known == newest_counters_.end())
        newest_counters_.push_back(sample);
    else
        *known = sample;
}

std::vector<CounterSample> Recorder::newest_counters() const {
    const Lock lock(notes_mutex_);
    return newest_counters_;
}

std::vector<CounterSample> Recorder::counters() const {
    const Lock lock(notes_mutex_);
    return {counters_.begin(), counters_.end()};
}

void Recorder::note_ceiling(std::string_view track, const Ceiling& ceiling) {
    const Lock lock(notes_mutex_);
    set_ceiling(names_.intern(track), ceiling);
}

void Recorder::note_ceiling(std::string_view lane, std::string_view device, const Ceiling& ceiling) {
    const Lock lock(notes_mutex_);
    bool is_known = false;
    for (const TrackSlot& slot : tracks_) {
        if (!slot.is_of(lane, device)) continue;
        set_ceiling(slot.track, ceiling);
        is_known = true;
    }
    if (!is_known) set_ceiling(add_track(lane, device).track, ceiling);
}

void Recorder::set_ceiling(NameId track, const Ceiling& ceiling) {
    const auto known = std::ranges::find(ceilings_, track, &TrackCeiling::track);
    if (known == ceilings_.end())
        ceilings_.push_back({track, ceiling});
    else
        known->ceiling = ceiling;
}

std::vector<TrackCeiling> Recorder::ceilings() const {
    const Lock lock(notes_mutex_);
    return ceilings_;
}

std::vector<TrackClock> Recorder::clocks() const {
    std::vector<TrackClock> clocks;
    for (const ClockSlot& slot : clocks_) {
        const NameId track = slot.track.load(std::memory_order_acquire);
        if (track == 0) break;
        clocks.push_back({track, Nanoseconds(slot.error.load(std::memory_order_relaxed)),
                          slot.drift_ppm.load(std::memory_order_relaxed)});
    }
    return clocks;
}

std::vector<CounterSample> Recorder::counters_at(Nanoseconds time) const {
    const Lock lock(notes_mutex_);
    std::vector<CounterSample> result;
    for (auto sample = counters_.rbegin(); sample != counters_.rend() && result.size() < newest_counters_.size();
         ++sample)
        if (sample->time <= time &&
            std::ranges::none_of(result, [&](const CounterSample& other) { return other.same_counter(*sample); }))
            result.push_back(*sample);
    return result;
}

void Recorder::add_frame(const FrameTimes& frame) {
    const Lock lock(notes_mutex_);
    if (frames_.size() == spans_.capacity()) frames_.pop_front();
    frames_.push_back(frame);
    ++frames_added_;
}

void Recorder::add_on_screen(const ScreenTime& time) {
    const Lock lock(notes_mutex_);
    if (screen_times_.size() == spans_.capacity()) screen_times_.pop_front();
    screen_times_.push_back(time);
    ++times_added_;
}

std::vector<FrameTimes> Recorder::frames() const {
    const Lock lock(notes_mutex_);
    return {frames_.begin(), frames_.end()};
}

std::vector<ScreenTime> Recorder::screen_times() const {
    const Lock lock(notes_mutex_);
    return {screen_times_.begin(), screen_times_.end()};
}

void Recorder::read(FrameCursor& cursor, std::vector<FrameTimes>& frames, std::vector<ScreenTime>& times) const {
    const Lock lock(notes_mutex_);
    const auto append = [](const auto& from, std::uint64_t added, std::uint64_t& next, auto& to) {
        const std::uint64_t unread = std::min<std::uint64_t>(added - next, from.size());
        to.insert(to.end(), from.end() - static_cast<std::ptrdiff_t>(unread), from.end());
        next = added;
    };
    append(frames_, frames_added_, cursor.frames, frames);
    append(screen_times_, times_added_, cursor.times, times);
}

}  // namespace kinetograph::profile
