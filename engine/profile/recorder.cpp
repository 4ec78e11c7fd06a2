#include <kinetograph/engine/profile/recorder.hpp>

#include <algorithm>
#include <limits>

namespace kinetograph::profile {
namespace {

constexpr std::int64_t kNothingYet = std::numeric_limits<std::int64_t>::max();

}  // namespace

Recorder::Recorder(std::size_t capacity)
    : capacity_(std::max<std::size_t>(capacity, 1)),
      ring_(std::make_unique<Slot[]>(capacity_)),
      first_begin_(kNothingYet) {}

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
    const std::uint64_t ticket = next_.fetch_add(1, std::memory_order_acq_rel);
    Slot& slot = ring_[ticket % capacity_];
    const std::uint64_t writing = 2 * (ticket / capacity_) + 1;
    std::uint64_t state = slot.state.load(std::memory_order_relaxed);
    // A thread that stood still for a whole lap still writes here, or this one did: the span is given up.
    if (state % 2 != 0 || state > writing ||
        !slot.state.compare_exchange_strong(state, writing, std::memory_order_acq_rel)) {
        skipped_.store(ticket + 1, std::memory_order_release);
        return;
    }
    // Stores that release: a reader that sees one of the values also sees that the slot is being written.
    slot.names.store(std::uint64_t{record.name} << 32U | record.track, std::memory_order_release);
    slot.plan.store(record.plan, std::memory_order_release);
    slot.begin.store(begin, std::memory_order_release);
    slot.end.store(record.end.count(), std::memory_order_release);
    slot.execution.store(record.execution, std::memory_order_release);
    slot.state.store(writing + 1, std::memory_order_release);
}

Recorder::Read Recorder::read(std::uint64_t ticket, SpanRecord& record) const {
    const Slot& slot = ring_[ticket % capacity_];
    const std::uint64_t written = 2 * (ticket / capacity_) + 2;
    const std::uint64_t before = slot.state.load(std::memory_order_acquire);
    if (before > written) return Read::Gone;
    if (before < written) return ticket < skipped_.load(std::memory_order_acquire) ? Read::Gone : Read::NotYet;
    const std::uint64_t names = slot.names.load(std::memory_order_acquire);
    record.name = static_cast<NameId>(names >> 32U);
    record.track = static_cast<NameId>(names & 0xffffffffU);
    record.plan = slot.plan.load(std::memory_order_acquire);
    record.begin = Nanoseconds(slot.begin.load(std::memory_order_acquire));
    record.end = Nanoseconds(slot.end.load(std::memory_order_acquire));
    record.execution = slot.execution.load(std::memory_order_acquire);
    return slot.state.load(std::memory_order_relaxed) == written ? Read::Done : Read::Gone;
}

void Recorder::read(Cursor& cursor, std::vector<SpanRecord>& out) const {
    const std::uint64_t end = next_.load(std::memory_order_acquire);
    cursor.next = std::max(cursor.next, cleared_.load(std::memory_order_acquire));
    if (const std::uint64_t oldest = end > capacity_ ? end - capacity_ : 0; cursor.next < oldest) {
        cursor.missed += oldest - cursor.next;
        cursor.next = oldest;
    }
    for (SpanRecord record; cursor.next < end; ++cursor.next) {
        const Read read = this->read(cursor.next, record);
        if (read == Read::NotYet) return;  // and what comes after it waits, so that the order stays
        if (read == Read::Done)
            out.push_back(record);
        else
            ++cursor.missed;
    }
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
    cleared_.store(next_.load(std::memory_order_acquire), std::memory_order_release);
    first_begin_.store(kNothingYet, std::memory_order_relaxed);
}

void Recorder::note_clock(std::string_view track, Nanoseconds error, double drift_ppm) {
    const NameId id = names_.intern(track);
    const Lock lock(notes_mutex_);
    const auto known = std::ranges::find(clocks_, id, &TrackClock::track);
    if (known == clocks_.end())
        clocks_.push_back({id, error, drift_ppm});
    else
        *known = {id, error, drift_ppm};
}

void Recorder::count(const Counter& counter, Nanoseconds time, double value) {
    const CounterSample sample{names_.intern(counter.name), names_.intern(counter.device), names_.intern(counter.unit),
                               time, value};
    const Lock lock(notes_mutex_);
    if (counters_.size() == capacity_) counters_.pop_front();
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

void Recorder::note_ceiling(std::string_view track, Ceiling ceiling) {
    const NameId id = names_.intern(track);
    const Lock lock(notes_mutex_);
    const auto known = std::ranges::find(ceilings_, id, &TrackCeiling::track);
    if (known == ceilings_.end())
        ceilings_.push_back({id, std::move(ceiling)});
    else
        known->ceiling = std::move(ceiling);
}

std::vector<TrackCeiling> Recorder::ceilings() const {
    const Lock lock(notes_mutex_);
    return ceilings_;
}

std::vector<TrackClock> Recorder::clocks() const {
    const Lock lock(notes_mutex_);
    return clocks_;
}

}  // namespace kinetograph::profile
