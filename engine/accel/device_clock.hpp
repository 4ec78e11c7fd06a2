// Events of a GPU's driver on the host's time axis. Drivers tell differences between events only: a clock anchors them.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/profile/clock_regression.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace kinetograph::accel {

/// What a DeviceClock asks of a driver: two events, on a stream that has nothing else to do.
class ClockAnchors {
  public:
    static constexpr std::size_t kCount = 2;
    virtual ~ClockAnchors() = default;
    /// Called once on the clock's own thread, before any of the others there.
    virtual void enter_thread() = 0;
    /// Records an anchor and blocks until it has been passed.
    virtual Result<void> record(std::size_t anchor) = 0;
    /// Nanoseconds between two anchors that have been passed.
    virtual Result<double> elapsed(std::size_t from, std::size_t to) const = 0;
};

/// An event of a driver.
class DriverEvent;

/// Maps events of one device to host time. A thread of its own records an anchor a few times a second, reads the host's
/// clock before and after, and fits offset and drift; an event's time is the newest anchor's plus what the driver
/// gives, which is a float of milliseconds: 30 ns fine at half a second.
class DeviceClock {
  public:
    /// `thread_name` has 15 characters at most. Errors: what the driver says.
    static Result<std::shared_ptr<DeviceClock>> start(std::unique_ptr<ClockAnchors> anchors, const char* thread_name);
    ~DeviceClock();
    DeviceClock(const DeviceClock&) = delete;
    DeviceClock& operator=(const DeviceClock&) = delete;

    /// Empty while `event` has not been passed, or was never recorded.
    std::optional<Nanoseconds> host_time(const DriverEvent& event) const;
    double drift_ppm() const;

  private:
    explicit DeviceClock(std::unique_ptr<ClockAnchors> anchors) : anchors_(std::move(anchors)) {}
    Result<void> read();
    void run();

    std::unique_ptr<ClockAnchors> anchors_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t newest_ = 0;  ///< anchor
    bool anchored_ = false;
    double device_time_ = 0;  ///< of the newest anchor: nanoseconds since the first one
    profile::ClockRegression regression_;
    bool stop_ = false;
    std::thread thread_;
};

class DriverEvent : public Event {
  public:
    explicit DriverEvent(std::shared_ptr<const DeviceClock> clock) : clock_(std::move(clock)) {}
    std::optional<Nanoseconds> time() const final;
    /// The event is about to be recorded, once or by every replay of a graph.
    void expect() { recorded_.store(true, std::memory_order_release); }

  private:
    friend class DeviceClock;
    /// Nanoseconds from an anchor to this event; empty until it has been passed.
    virtual std::optional<double> since(const ClockAnchors& anchors, std::size_t anchor) const = 0;

    std::shared_ptr<const DeviceClock> clock_;
    std::atomic<bool> recorded_ = false;  ///< drivers call an event that was never recorded complete
};

}  // namespace kinetograph::accel
