// The host lane: one thread that runs passes of Lane::Host in order.
#pragma once

#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/engine/graph/executor.hpp>

#include <atomic>
#include <deque>
#include <functional>
#include <thread>

namespace kinetograph::graph {

class HostLane final : public LaneBackend {
  public:
    /// Called for every pass after it has run, on the lane's thread. Times are on the host axis (clock.hpp).
    using Observer =
        std::function<void(std::string_view pass, std::uint64_t execution, Nanoseconds begin, Nanoseconds end)>;
    explicit HostLane(Observer observer = {});
    /// First runs everything that was submitted; stops waiting for points that are not reached within kPatience.
    ~HostLane() override;
    HostLane(const HostLane&) = delete;
    HostLane& operator=(const HostLane&) = delete;

    Lane lane() const override { return Lane::Host; }
    /// Errors: the first Error of a lane or a point that was waited for, of a pass or of the observer; from then on
    /// passes are skipped, but values are still reached.
    Result<void> submit(const BatchRecord& record) override;
    using LaneBackend::wait;
    Result<bool> wait(std::uint64_t value, Nanoseconds timeout) override;
    std::shared_ptr<Timeline> timeline() const override { return timeline_; }
    LaneState state() const override;

  private:
    struct Pass {
        std::string name;
        std::function<void(PassContext&)> execute;
        std::size_t first_entry = 0, entries = 0;
    };
    struct Job {
        std::uint64_t execution = 0;
        std::uint64_t signal = 0;
        std::vector<Point> waits{};
        std::vector<Pass> passes{};
        std::vector<PassContext::Entry> entries{};
    };
    void run();
    Result<void> wait_for_others(const Job& job);
    Result<void> wait_until_reached(const Point& point);
    Result<void> run_passes(const Job& job);

    Observer observer_;
    std::shared_ptr<HostTimeline> timeline_ = std::make_shared<HostTimeline>("lane host");
    PendingWaits pending_;
    mutable Mutex mutex_;
    Condition submitted_;
    std::deque<Job> jobs_ KG_GUARDED_BY(mutex_);
    std::uint64_t newest_ KG_GUARDED_BY(mutex_) = 0;
    std::atomic<bool> executes_{false};  ///< a pass runs now; false while the lane waits
    bool stop_ KG_GUARDED_BY(mutex_) = false;
    Nanoseconds stopped_ KG_GUARDED_BY(mutex_){};
    std::thread thread_;  ///< last: starts when the rest exists
};

}  // namespace kinetograph::graph
