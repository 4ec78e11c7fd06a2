// Events of HIP on the host's time axis. The runtime tells differences between events only: a clock anchors them.
#pragma once

#include <kinetograph/engine/accel/hip/context.hpp>
#include <kinetograph/engine/profile/clock_regression.hpp>

#include <atomic>
#include <condition_variable>
#include <thread>

namespace kinetograph::accel::hip {

/// An event of the runtime with its lifetime.
class EventObject final {
  public:
    static Result<std::unique_ptr<EventObject>> create(std::shared_ptr<Context> context);
    ~EventObject();
    EventObject(const EventObject&) = delete;
    EventObject& operator=(const EventObject&) = delete;
    EventHandle handle() const { return handle_; }

  private:
    EventObject(std::shared_ptr<Context> context, EventHandle handle) : context_(std::move(context)), handle_(handle) {}
    std::shared_ptr<Context> context_;
    EventHandle handle_;
};

/// Maps events of one device to host time. A thread of its own records an anchor on an otherwise empty stream a few
/// times a second, reads the host's clock before and after, and fits offset and drift; an event's time is the newest
/// anchor's plus what hipEventElapsedTime gives, which is a float of milliseconds: 30 ns fine at half a second.
class DeviceClock {
  public:
    static Result<std::shared_ptr<DeviceClock>> create(std::shared_ptr<Context> context);
    ~DeviceClock();
    DeviceClock(const DeviceClock&) = delete;
    DeviceClock& operator=(const DeviceClock&) = delete;

    /// Empty while `event` has not been passed, or was never recorded.
    std::optional<Nanoseconds> host_time(EventHandle event) const;
    double drift_ppm() const;

  private:
    explicit DeviceClock(std::shared_ptr<Context> context) : context_(std::move(context)) {}
    Result<void> start();
    Result<void> read();
    void run();

    std::shared_ptr<Context> context_;
    StreamHandle stream_ = nullptr;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::array<std::unique_ptr<EventObject>, 2> anchors_;
    std::size_t newest_ = 0;  ///< of anchors_
    bool anchored_ = false;
    double device_time_ = 0;  ///< of the newest anchor: nanoseconds since the first one
    profile::ClockRegression regression_;
    bool stop_ = false;
    std::thread thread_;
};

class HipEvent final : public Event {
  public:
    HipEvent(std::unique_ptr<EventObject> object, std::shared_ptr<const DeviceClock> clock)
        : object_(std::move(object)), clock_(std::move(clock)) {}
    std::optional<Nanoseconds> time() const override;
    /// The event is about to be recorded, once or by every replay of a graph.
    void expect() { recorded_.store(true, std::memory_order_release); }
    EventHandle handle() const { return object_->handle(); }

  private:
    std::unique_ptr<EventObject> object_;
    std::shared_ptr<const DeviceClock> clock_;
    std::atomic<bool> recorded_ = false;  ///< hipEventQuery calls an event that was never recorded complete
};

}  // namespace kinetograph::accel::hip
