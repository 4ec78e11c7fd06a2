#include <kinetograph/engine/accel/hip/event.hpp>

#include <pthread.h>

#include <cmath>

namespace kinetograph::accel::hip {

Result<std::unique_ptr<EventObject>> EventObject::create(std::shared_ptr<Context> context) {
    if (auto current = context->make_current(); !current) return fail(std::move(current.error()), "event");
    EventHandle handle = nullptr;
    if (auto made = context->runtime->check(context->hip().hipEventCreateWithFlags(&handle, kEventDefault),
                                            "hipEventCreateWithFlags");
        !made)
        return fail(std::move(made.error()), "event");
    return std::unique_ptr<EventObject>(new EventObject(std::move(context), handle));
}

EventObject::~EventObject() {
    (void)context_->make_current();
    (void)context_->hip().hipEventDestroy(handle_);
}

Result<std::shared_ptr<DeviceClock>> DeviceClock::create(std::shared_ptr<Context> context) {
    std::shared_ptr<DeviceClock> clock(new DeviceClock(std::move(context)));
    if (auto started = clock->start(); !started) return fail(std::move(started.error()), "device clock");
    return clock;
}

Result<void> DeviceClock::start() {
    if (auto current = context_->make_current(); !current) return current;
    if (auto made = context_->runtime->check(context_->hip().hipStreamCreateWithFlags(&stream_, kStreamNonBlocking),
                                             "hipStreamCreateWithFlags");
        !made)
        return made;
    for (auto& anchor : anchors_) {
        auto event = EventObject::create(context_);
        if (!event) return fail(std::move(event.error()));
        anchor = std::move(*event);
    }
    constexpr int kFirstReadings = 5;  // of which one at least is not interrupted, and weighs most
    for (int i = 0; i < kFirstReadings; ++i)
        if (auto anchored = read(); !anchored) return anchored;
    thread_ = std::thread([this] { run(); });
    pthread_setname_np(thread_.native_handle(), "hip clock");
    return {};
}

DeviceClock::~DeviceClock() {
    {
        std::lock_guard lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    (void)context_->make_current();
    if (stream_ != nullptr) (void)context_->hip().hipStreamDestroy(stream_);
}

/// Called by the thread alone once it runs: `newest_` changes under the lock, the other anchor belongs to this
/// function.
Result<void> DeviceClock::read() {
    const EntryPoints& hip = context_->hip();
    const std::size_t next = anchored_ ? 1 - newest_ : newest_;
    const Nanoseconds before = host_now();
    if (auto recorded =
            context_->runtime->check(hip.hipEventRecord(anchors_.at(next)->handle(), stream_), "hipEventRecord");
        !recorded)
        return recorded;
    if (auto passed =
            context_->runtime->check(hip.hipEventSynchronize(anchors_.at(next)->handle()), "hipEventSynchronize");
        !passed)
        return passed;
    const Nanoseconds after = host_now();
    std::lock_guard lock(mutex_);
    if (anchored_) {
        float milliseconds = 0;
        if (auto measured = context_->runtime->check(
                hip.hipEventElapsedTime(&milliseconds, anchors_.at(newest_)->handle(), anchors_.at(next)->handle()),
                "hipEventElapsedTime");
            !measured)
            return measured;
        device_time_ += static_cast<double>(milliseconds) * 1e6;
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
    (void)context_->make_current();
    for (int readings = 0;; ++readings) {
        {
            std::unique_lock lock(mutex_);
            if (changed_.wait_for(lock, readings < kQuickReadings ? 15ms : 250ms, [&] { return stop_; })) return;
        }
        if (!read()) return;  // the device is lost, which its streams report; the last fit stands
    }
}

std::optional<Nanoseconds> DeviceClock::host_time(EventHandle event) const {
    const EntryPoints& hip = context_->hip();
    (void)context_->make_current();
    if (hip.hipEventQuery(event) != Status::Success) return std::nullopt;
    std::lock_guard lock(mutex_);
    float milliseconds = 0;
    if (hip.hipEventElapsedTime(&milliseconds, anchors_.at(newest_)->handle(), event) != Status::Success)
        return std::nullopt;
    // Unsigned on purpose: events before the first anchor wrap, which the regression reads as negative.
    const auto ticks = static_cast<std::int64_t>(std::llround(device_time_ + static_cast<double>(milliseconds) * 1e6));
    return regression_.to_host(static_cast<std::uint64_t>(ticks));
}

double DeviceClock::drift_ppm() const {
    std::lock_guard lock(mutex_);
    return regression_.drift_ppm();
}

std::optional<Nanoseconds> HipEvent::time() const {
    if (!recorded_.load(std::memory_order_acquire)) return std::nullopt;
    return clock_->host_time(object_->handle());
}

}  // namespace kinetograph::accel::hip
