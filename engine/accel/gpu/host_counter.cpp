#include <kinetograph/engine/accel/gpu/host_counter.hpp>

#include <algorithm>
#include <atomic>
#include <thread>

namespace kinetograph::accel::gpu {

HostCounter::HostCounter(std::uint64_t* counter) : counter_(counter) {
    std::atomic_ref(*counter_).store(0, std::memory_order_release);
}

std::uint64_t HostCounter::value() const { return std::atomic_ref(*counter_).load(std::memory_order_acquire); }

bool HostCounter::wait(std::uint64_t value, std::optional<Nanoseconds> timeout) const {
    using namespace std::chrono_literals;
    constexpr Nanoseconds kSpin = 20us, kLongestNap = 100us;
    const Nanoseconds begin = host_now();
    Nanoseconds nap = 1us;
    while (this->value() < value) {
        const Nanoseconds waited = host_now() - begin;
        if (timeout && waited >= *timeout) return false;
        if (waited < kSpin) continue;
        std::this_thread::sleep_for(nap);
        nap = std::min(nap * 2, kLongestNap);
    }
    return true;
}

void HostCounter::signal(std::uint64_t value) {
    std::atomic_ref counter(*counter_);
    std::uint64_t before = counter.load(std::memory_order_relaxed);
    while (before < value && !counter.compare_exchange_weak(before, value, std::memory_order_release)) {
    }
}

}  // namespace kinetograph::accel::gpu
