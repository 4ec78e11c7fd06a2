#include <kinetograph/engine/accel/cpu/timeline.hpp>

namespace kinetograph::accel::cpu {

std::optional<Nanoseconds> CpuEvent::time() const {
    const auto time = time_.load(std::memory_order_acquire);
    if (time == kUnset) return std::nullopt;
    return Nanoseconds(time);
}

void CpuEvent::stamp(std::optional<Nanoseconds> time) {
    time_.store(time ? time->count() : kUnset, std::memory_order_release);
}

}  // namespace kinetograph::accel::cpu
