#include <kinetograph/compute/stream/step_clock.hpp>

namespace kinetograph::stream {

Result<std::shared_ptr<accel::Event>> StepClock::take() {
    const Lock lock(mutex_);
    if (free_.empty()) collect_locked();
    if (free_.empty()) return device_.create_event();
    auto event = std::move(free_.back());
    free_.pop_back();
    return event;
}

Result<void> StepClock::begin(accel::Stream& stream) {
    if (begun_ == nullptr) {  // else the event of a step that failed
        KG_TRY(begun_, take());
    }
    stream.record(begun_);
    return {};
}

Result<std::uint64_t> StepClock::end(accel::Stream& stream, bool is_first) {
    KG_TRY(auto event, take());
    stream.record(event);
    const Lock lock(mutex_);
    running_.push_back({std::move(begun_), std::move(event), is_first});
    return ++times_.steps;
}

/// Reads the times of the steps that are done, unless a step is being enqueued: the driver may block meanwhile.
void StepClock::collect() const {
    Lock enqueuing(enqueuing_mutex_, kDeferred);
    if (!enqueuing.try_lock()) return;
    const Lock lock(mutex_);
    collect_locked();
}

void StepClock::collect_locked() const {
    while (!running_.empty()) {
        Step& step = running_.front();
        const auto begin = step.begin->time(), end = step.end->time();
        if (!begin || !end) return;
        times_.last_step = *end - *begin;
        spans_[++ended_ % spans_.size()] = {*begin, *end};
        if (!step.is_first) {
            sum_ += times_.last_step;
            times_.average_step = sum_ / static_cast<Nanoseconds::rep>(++counted_);
        }
        free_.push_back(std::move(step.begin));
        free_.push_back(std::move(step.end));
        running_.pop_front();
    }
}

StepTimes StepClock::times() const {
    collect();
    const Lock lock(mutex_);
    return times_;
}

std::optional<StepSpan> StepClock::span_of(std::uint64_t number) const {
    collect();
    const Lock lock(mutex_);
    if (number == 0 || number > ended_ || ended_ - number >= spans_.size()) return std::nullopt;
    return spans_[number % spans_.size()];
}

}  // namespace kinetograph::stream
