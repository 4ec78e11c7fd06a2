#include <kinetograph/engine/accel/cpu/timeline.hpp>

namespace kinetograph::accel::cpu {

std::uint64_t CpuTimeline::value() const {
    std::lock_guard lock(mutex_);
    return value_;
}

bool CpuTimeline::wait(std::uint64_t value, std::optional<Nanoseconds> timeout) {
    std::unique_lock lock(mutex_);
    const auto reached = [&] { return value_ >= value; };
    if (timeout) return grown_.wait_until(lock, std::chrono::steady_clock::now() + *timeout, reached);
    grown_.wait(lock, reached);
    return true;
}

void CpuTimeline::signal(std::uint64_t value) {
    {
        std::lock_guard lock(mutex_);
        if (value <= value_) return;
        value_ = value;
    }
    grown_.notify_all();
}

std::optional<Nanoseconds> CpuEvent::time() const {
    const auto time = time_.load(std::memory_order_acquire);
    if (time == kUnset) return std::nullopt;
    return Nanoseconds(time);
}

void CpuEvent::stamp(std::optional<Nanoseconds> time) {
    time_.store(time ? time->count() : kUnset, std::memory_order_release);
}

}  // namespace kinetograph::accel::cpu
