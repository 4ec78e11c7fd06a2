// LaneWatch: has a lane's values signalled when its device is lost or what its stream waits for has failed.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/graph/lane_waits.hpp>

#include <atomic>
#include <thread>

namespace kinetograph::accel {

/// A thread that observes a stream while values that it was given to signal are outstanding. It sleeps while none are,
/// and makes no driver call while values are being reached. If the device is lost, the stream itself signals once it is
/// asked for its status. A timeline that the stream waits for and whose owner has failed is signalled from another
/// stream.
class LaneWatch {
  public:
    /// All outlive the watch. `timeline` is the lane's, which `stream` signals.
    LaneWatch(Device& device, Stream& stream, Timeline& timeline, const graph::LaneWaits& waits);
    ~LaneWatch() { stop(); }
    LaneWatch(const LaneWatch&) = delete;
    LaneWatch& operator=(const LaneWatch&) = delete;

    /// From here on `value` is outstanding.
    void expect(std::uint64_t value);
    /// The stream is not given what was expected after all, but the values up to `value`.
    void expect_no_more_than(std::uint64_t value) { newest_ = value; }
    std::uint64_t newest() const { return newest_; }  ///< that was expected
    /// Whether the timeline, or a view of it that the stream has not refused to signal, is behind newest().
    bool is_outstanding() const;
    /// The views of the lane's timeline that the stream can signal.
    std::vector<std::shared_ptr<Timeline>> views() const;
    void wake();
    void stop();
    /// Logs the loss of the device that `status` reports, once. Not while the thread runs.
    void log_loss(const Result<void>& status);

  private:
    void run();
    void check();
    void release_from(const graph::PendingWaits::Wait& wait);
    void signal_from_another_stream(const graph::Point& point);
    bool passes(Stream& stream, Timeline& timeline);

    Device& device_;
    Stream& stream_;
    Timeline& timeline_;
    const graph::LaneWaits& waits_;
    std::atomic<std::uint64_t> newest_{0};
    std::atomic<bool> sleeps_{false};
    Mutex mutex_;
    Condition wakes_;
    bool ends_ KG_GUARDED_BY(mutex_) = false;
    bool logged_ = false;                 ///< the loss of the device
    std::vector<graph::Point> released_;  ///< signalled from another stream, or tried to; one per timeline
    std::thread thread_;                  ///< last: starts when the rest exists
};

}  // namespace kinetograph::accel
