#include <kinetograph/engine/graph/timeline.hpp>

#include <algorithm>

namespace kinetograph::graph {

std::uint64_t Timeline::next_counter() {
    static std::atomic<std::uint64_t> next{1};
    return next.fetch_add(1, std::memory_order_relaxed);
}

Result<void> Timeline::status() const {
    if (!reported_.load(std::memory_order_acquire)) return {};
    const Lock lock(mutex_);
    return kinetograph::fail(*error_);
}

void Timeline::report(Error error) {
    std::vector<std::function<void(const Error&)>> told;
    const Error* first = nullptr;  // which stays as it is
    {
        const Lock lock(mutex_);
        if (error_) return;
        first = &error_.emplace(std::move(error));
        reported_.store(true, std::memory_order_release);
        told.swap(told_);
    }
    for (const auto& each : told) each(*first);
}

void Timeline::on_report(std::function<void(const Error&)> told) {
    Lock lock(mutex_);
    if (!error_) return told_.push_back(std::move(told));
    const Error error = *error_;
    lock.unlock();
    told(error);
}

void Timeline::add_view(std::shared_ptr<Timeline> view) {
    const Lock lock(mutex_);
    const std::uint64_t counter = view->counter();
    for (auto& each : view_counters_) {
        std::uint64_t unused = 0;
        if (each.compare_exchange_strong(unused, counter, std::memory_order_acq_rel)) break;
    }
    views_.push_back(std::move(view));
}

void Timeline::forget_views() {
    std::vector<std::shared_ptr<Timeline>> views;
    const Lock lock(mutex_);
    views.swap(views_);
}

std::uint64_t HostTimeline::value() const {
    const Lock lock(mutex_);
    return value_;
}

bool HostTimeline::wait(std::uint64_t value, std::optional<Nanoseconds> timeout) {
    Lock lock(mutex_);
    const auto reached = [&]() KG_REQUIRES(mutex_) { return value_ >= value; };
    if (timeout) return grown_.wait_until(lock, std::chrono::steady_clock::now() + *timeout, reached);
    grown_.wait(lock, reached);
    return true;
}

void HostTimeline::signal(std::uint64_t value) {
    {
        const Lock lock(mutex_);
        if (value <= value_) return;
        value_ = value;
    }
    grown_.notify_all();
}

Result<bool> wait_for(const Point& point, Nanoseconds timeout) {
    const Nanoseconds end = host_now() + timeout;
    for (;;) {
        const Nanoseconds left = end - host_now();
        const bool reached = point.timeline->wait(point.value, std::clamp(left, Nanoseconds{}, kLook));
        KG_CHECK(point.timeline->status());
        if (reached) return true;
        if (left <= kLook) return false;
    }
}

Result<void> wait_for(const Point& point) {
    for (;;) {
        KG_TRY(const bool reached, wait_for(point, kLook));
        if (reached) return {};
    }
}

}  // namespace kinetograph::graph
