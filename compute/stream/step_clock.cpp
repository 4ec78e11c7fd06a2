#include <kinetograph/compute/stream/step_clock.hpp>

namespace kinetograph::stream {

Result<std::shared_ptr<accel::Event>> StepClock::take() {
    collect();
    if (free_.empty()) return device_.create_event();
    auto event = std::move(free_.back());
    free_.pop_back();
    return event;
}

Result<void> StepClock::begin(accel::Stream& stream) {
    std::lock_guard lock(mutex_);
    if (begun_ == nullptr) {  // else that of a step which came to nothing
        KG_TRY(begun_, take());
    }
    stream.record(begun_);
    return {};
}

Result<std::uint64_t> StepClock::end(accel::Stream& stream, bool is_first) {
    std::lock_guard lock(mutex_);
    KG_TRY(auto event, take());
    stream.record(event);
    running_.push_back({std::move(begun_), std::move(event), is_first});
    return ++times_.steps;
}

/// Reads the steps that the stream has passed.
void StepClock::collect() const {
    while (!running_.empty()) {
        Step& step = running_.front();
        const auto begin = step.begin->time(), end = step.end->time();
        if (!begin || !end) return;
        times_.last_step = *end - *begin;
        ends_[++ended_ % ends_.size()] = *end;
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
    std::lock_guard lock(mutex_);
    collect();
    return times_;
}

std::optional<Nanoseconds> StepClock::end_of(std::uint64_t number) const {
    std::lock_guard lock(mutex_);
    collect();
    if (number == 0 || number > ended_ || ended_ - number >= ends_.size()) return std::nullopt;
    return ends_[number % ends_.size()];
}

}  // namespace kinetograph::stream
