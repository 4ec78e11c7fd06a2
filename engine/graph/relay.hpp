// Relay: waits on a thread of the host for points that a device cannot see, and signals a timeline that it can.
#pragma once

#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/engine/graph/timeline.hpp>

#include <span>
#include <thread>
#include <vector>

namespace kinetograph::graph {

/// Promises are kept in order. A point that fails is signalled too, so that nothing hangs, and error() reports it. A
/// promise allocates nothing once the two lists have held as many as are ever in flight. The thread waits in memory and
/// in vkWaitSemaphores and calls no accelerator's driver: such a call may block on a full queue that only the relay's
/// signal would drain.
class Relay {
  public:
    /// Signals `target` with 1, 2, 3, ...
    explicit Relay(std::shared_ptr<Timeline> target);
    /// First signals every promised value; stops waiting for points that are not reached within kPatience.
    ~Relay();
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

    const std::shared_ptr<Timeline>& timeline() const { return target_; }
    /// The value of timeline() that will be signalled once all `points`, and those of earlier promises, are reached.
    std::uint64_t promise(std::span<const Point> points);
    /// Signals all values promised so far without waiting any longer; error() then says so.
    void give_up();
    std::optional<Error> error() const;  ///< the first failure of a point

  private:
    /// Promises in order: `counts[i]` of `points` belong to the i-th.
    struct Promises {
        std::vector<std::size_t> counts;
        std::vector<Point> points;
        void clear() {
            counts.clear();
            points.clear();
        }
    };
    void run();
    void wait_for_all(std::span<const Point> points, std::uint64_t value);
    Result<void> wait_until_reached(const Point& point, std::uint64_t value) const;
    bool gives_up(std::uint64_t value) const;

    std::shared_ptr<Timeline> target_;
    mutable Mutex mutex_;
    Condition changed_;
    Promises promised_ KG_GUARDED_BY(mutex_);
    std::uint64_t newest_ KG_GUARDED_BY(mutex_) = 0;
    std::uint64_t given_up_ KG_GUARDED_BY(mutex_) = 0;  ///< promises up to this one are signalled at once
    bool stop_ KG_GUARDED_BY(mutex_) = false;
    Nanoseconds stopped_ KG_GUARDED_BY(mutex_){};
    std::optional<Error> error_ KG_GUARDED_BY(mutex_);
    std::thread thread_;  ///< last: starts when the rest exists
};

}  // namespace kinetograph::graph
