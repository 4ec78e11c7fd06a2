#include <kinetograph/engine/accel/gpu/clock.hpp>
#include <kinetograph/engine/base/exceptions.hpp>

#include <pthread.h>

#include <cmath>

namespace kinetograph::accel::gpu {
namespace {

constexpr Nanoseconds kQuickInterval = std::chrono::milliseconds(15), kInterval = std::chrono::milliseconds(250);

}  // namespace

Result<std::shared_ptr<DeviceClock>> DeviceClock::start(std::shared_ptr<CounterContext> context) {
    const std::string name = fmt::format("{} clock", context->info().kind);  // 15 characters at most
    std::shared_ptr<DeviceClock> clock(new DeviceClock(std::move(context)));
    constexpr int kFirstReadings = 5;  // likely at least one is not interrupted; it gets the largest weight
    Result<void> anchored = clock->create_anchors();
    for (int i = 0; i < kFirstReadings && anchored; ++i) anchored = clock->read();
    KG_CHECK_IN("device clock", anchored);
    clock->thread_ = std::thread([self = clock.get()] { self->run(); });
    pthread_setname_np(clock->thread_.native_handle(), name.c_str());
    return clock;
}

Result<void> DeviceClock::create_anchors() {
    KG_TRY(stream_, context_->create_stream());
    for (EventHandle& anchor : anchors_) {
        KG_TRY(anchor, context_->create_event());
    }
    return {};
}

DeviceClock::~DeviceClock() {
    {
        const Lock lock(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
    for (const EventHandle anchor : anchors_)
        if (anchor != nullptr) context_->release(anchor);
    if (stream_ != nullptr) context_->release(stream_);
}

/// Blocks until the anchor has been passed.
Result<void> DeviceClock::record(EventHandle anchor) {
    KG_CHECK(context_->record(stream_, anchor));
    return context_->synchronize(anchor);
}

/// Once the thread runs, only it calls this: `newest_` changes under the lock, the other anchor belongs to this
/// function.
Result<void> DeviceClock::read() {
    const std::size_t next = anchored_ ? 1 - newest_ : newest_;
    const Nanoseconds before = host_now();
    KG_CHECK(record(anchors_[next]));
    const Nanoseconds after = host_now();
    const Lock lock(mutex_);
    if (anchored_) {
        KG_TRY(const double measured, context_->nanoseconds(anchors_[newest_], anchors_[next]));
        device_time_ += measured;
    }
    newest_ = next;
    anchored_ = true;
    regression_.add(static_cast<std::uint64_t>(std::llround(device_time_)), before + (after - before) / 2,
                    (after - before) / 2);
    return {};
}

void DeviceClock::run() {
    constexpr int kQuickReadings = 8;  // a first slope after a tenth of a second, then one reading every quarter
    context_->enter_thread();
    for (int readings = 0;; ++readings) {
        {
            Lock lock(mutex_);
            if (changed_.wait_for(lock, readings < kQuickReadings ? kQuickInterval : kInterval,
                                  [&]() KG_REQUIRES(mutex_) { return stop_; }))
                return;
        }
        // An Error: the device is lost, which its streams report; the last fit is kept.
        if (!without_exceptions("device clock", [this] { return read(); })) return;
    }
}

std::optional<Nanoseconds> DeviceClock::host_time(const GpuEvent& event) const {
    const Lock lock(mutex_);
    if (!context_->has_passed(event.handle())) return std::nullopt;
    const auto since = context_->nanoseconds(anchors_[newest_], event.handle());
    if (!since) return std::nullopt;
    // Unsigned on purpose: events before the first anchor wrap, which the regression reads as negative.
    const auto ticks = static_cast<std::int64_t>(std::llround(device_time_ + *since));
    return regression_.to_host(static_cast<std::uint64_t>(ticks));
}

/// This fit also maps events that are stamped before the next reading, which a busy machine may delay: two intervals.
ClockQuality DeviceClock::quality() const {
    const Lock lock(mutex_);
    return {regression_.bound(2 * kInterval), regression_.drift_ppm()};
}

Result<std::shared_ptr<GpuEvent>> GpuEvent::create(std::shared_ptr<Context> context,
                                                   std::shared_ptr<const EventClock> clock) {
    KG_TRY_IN("event", const auto handle, context->create_event());
    return std::shared_ptr<GpuEvent>(new GpuEvent(std::move(context), std::move(clock), handle));
}

std::optional<Nanoseconds> GpuEvent::time() const {
    if (!recorded_.load(std::memory_order_acquire)) return std::nullopt;
    return clock_->host_time(*this);
}

}  // namespace kinetograph::accel::gpu
