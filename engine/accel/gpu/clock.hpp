// Events of a GPU on the host's time axis. CUDA and HIP report only differences between events: a clock anchors them.
#pragma once

#include <kinetograph/engine/accel/gpu/counter_context.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/engine/profile/clock_regression.hpp>

#include <atomic>
#include <thread>

namespace kinetograph::accel::gpu {

class GpuEvent;

/// Tells the host's time of a device's events.
class EventClock {
  public:
    virtual ~EventClock() = default;
    /// Empty while `event` has not been passed, or was never recorded.
    virtual std::optional<Nanoseconds> host_time(const GpuEvent& event) const = 0;
    virtual ClockQuality quality() const = 0;
};

/// Maps events of one device to host time. A thread of its own records an anchor a few times a second, reads the host's
/// clock before and after, and fits offset and drift; an event's time is the newest anchor's plus the difference that
/// the driver gives, a float of milliseconds: at half a second its resolution is 30 ns.
class DeviceClock final : public EventClock {
  public:
    /// Errors: what the driver says.
    static Result<std::shared_ptr<DeviceClock>> start(std::shared_ptr<CounterContext> context);
    ~DeviceClock() override;
    DeviceClock(const DeviceClock&) = delete;
    DeviceClock& operator=(const DeviceClock&) = delete;

    std::optional<Nanoseconds> host_time(const GpuEvent& event) const override;
    ClockQuality quality() const override;

  private:
    explicit DeviceClock(std::shared_ptr<CounterContext> context) : context_(std::move(context)) {}
    Result<void> create_anchors();
    Result<void> record(EventHandle anchor);
    Result<void> read();
    void run();

    std::shared_ptr<CounterContext> context_;
    StreamHandle stream_ = nullptr;  ///< carries nothing but the anchors
    std::array<EventHandle, 2> anchors_{};
    mutable Mutex mutex_;
    Condition changed_;
    std::size_t newest_ = 0;  ///< anchor; changed by the clock's thread under the lock
    bool anchored_ = false;   ///< likewise
    /// Of the newest anchor: nanoseconds since the first one.
    double device_time_ KG_GUARDED_BY(mutex_) = 0;
    profile::ClockRegression regression_ KG_GUARDED_BY(mutex_);
    bool stop_ KG_GUARDED_BY(mutex_) = false;
    std::thread thread_;
};

class GpuEvent final : public Event {
  public:
    static Result<std::shared_ptr<GpuEvent>> create(std::shared_ptr<Context> context,
                                                    std::shared_ptr<const EventClock> clock);
    ~GpuEvent() override { context_->release(handle_); }
    GpuEvent(const GpuEvent&) = delete;
    GpuEvent& operator=(const GpuEvent&) = delete;
    std::optional<Nanoseconds> time() const override;
    /// The event is about to be recorded, once or by every replay of a graph.
    void expect() { recorded_.store(true, std::memory_order_release); }
    EventHandle handle() const { return handle_; }
    Context& context() const { return *context_; }
    const void* owner() const override { return context_.get(); }

  private:
    GpuEvent(std::shared_ptr<Context> context, std::shared_ptr<const EventClock> clock, EventHandle handle)
        : context_(std::move(context)), clock_(std::move(clock)), handle_(handle) {}
    std::shared_ptr<Context> context_;
    std::shared_ptr<const EventClock> clock_;
    EventHandle handle_;
    std::atomic<bool> recorded_ = false;  ///< drivers report an event as complete that was never recorded
};

}  // namespace kinetograph::accel::gpu
