#include <kinetograph/engine/accel/device_clock.hpp>

#include <pthread.h>

#include <cmath>

namespace kinetograph::accel {

Result<std::shared_ptr<DeviceClock>> DeviceClock::start(std::unique_ptr<ClockAnchors> anchors,
                                                        const char* thread_name) {
    std::shared_ptr<DeviceClock> clock(new DeviceClock(std::move(anchors)));
    constexpr int kFirstReadings = 5;  // of which one at least is not interrupted, and weighs most
    for (int i = 0; i < kFirstReadings; ++i)
        if (auto anchored = clock->read(); !anchored) return fail(std::move(anchored.error()), "device clock");
    clock->thread_ = std::thread([self = clock.get()] { self->run(); });
    pthread_setname_np(clock->thread_.native_handle(), thread_name);
    return clock;
}

DeviceClock::~DeviceClock() {
    {
        std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

/// Called by the thread alone once it runs: `newest_` changes under the lock, the other anchor belongs to this
/// function.
Result<void> DeviceClock::read() {
    const std::size_t next = anchored_ ? 1 - newest_ : newest_;
    const Nanoseconds before = host_now();
    KG_CHECK(anchors_->record(next));
    const Nanoseconds after = host_now();
    std::lock_guard lock(mutex_);
    if (anchored_) {
        KG_TRY(auto measured, anchors_->elapsed(newest_, next));
        device_time_ += measured;
    }
    newest_ = next;
    anchored_ = true;
    regression_.add(static_cast<std::uint64_t>(std::llround(device_time_)), before + (after - before) / 2,
                    (after - before) / 2);
    return {};
}

void DeviceClock::run() {
    using namespace std::chrono_literals;
    constexpr int kQuickReadings = 8;  // a first slope after a tenth of a second, then one reading every quarter
    anchors_->enter_thread();
    for (int readings = 0;; ++readings) {
        {
            std::unique_lock lock(mutex_);
            if (changed_.wait_for(lock, readings < kQuickReadings ? 15ms : 250ms, [&] { return stop_; })) return;
        }
        if (!read()) return;  // the device is lost, which its streams report; the last fit stands
    }
}

std::optional<Nanoseconds> DeviceClock::host_time(const DriverEvent& event) const {
    std::lock_guard lock(mutex_);
    const auto since = event.since(*anchors_, newest_);
    if (!since) return std::nullopt;
    // Unsigned on purpose: events before the first anchor wrap, which the regression reads as negative.
    const auto ticks = static_cast<std::int64_t>(std::llround(device_time_ + *since));
    return regression_.to_host(static_cast<std::uint64_t>(ticks));
}

double DeviceClock::drift_ppm() const {
    std::lock_guard lock(mutex_);
    return regression_.drift_ppm();
}

std::optional<Nanoseconds> DriverEvent::time() const {
    if (!recorded_.load(std::memory_order_acquire)) return std::nullopt;
    return clock_->host_time(*this);
}

}  // namespace kinetograph::accel
