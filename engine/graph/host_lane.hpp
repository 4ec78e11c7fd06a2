// The host lane: one thread that runs passes of Lane::Host in order.
#pragma once

#include <kinetograph/engine/graph/executor.hpp>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace kinetograph::graph {

class HostLane final : public LaneBackend {
  public:
    /// Told of every pass after it has run, on the lane's thread. Times are on the host axis (clock.hpp).
    using Observer =
        std::function<void(std::string_view pass, std::uint64_t execution, Nanoseconds begin, Nanoseconds end)>;
    explicit HostLane(Observer observer = {});
    ~HostLane() override;  ///< runs what was submitted to its end
    HostLane(const HostLane&) = delete;
    HostLane& operator=(const HostLane&) = delete;

    Lane lane() const override { return Lane::Host; }
    /// Errors: the first Error of a lane that was waited for; from then on passes are skipped, values are still
    /// reached.
    Result<void> submit(const BatchRecord& record) override;
    Result<void> wait(std::uint64_t value) override;
    /// Timeline value reached so far.
    std::uint64_t value() const;
    /// Calls `reached` on the lane's thread once the timeline has reached `value`; at once, on the caller's, if it has
    /// already. For lanes that cannot wait for a host thread otherwise, such as a queue with a device semaphore.
    void when_reached(std::uint64_t value, std::function<void()> reached);

  private:
    struct Pass {
        std::string name;
        std::function<void(PassContext&)> execute;
        std::size_t first_entry = 0, entries = 0;
    };
    struct Job {
        std::uint64_t execution = 0;
        std::uint64_t signal = 0;
        std::vector<ResolvedWait> waits{};
        std::vector<Pass> passes{};
        std::vector<PassContext::Entry> entries{};
    };
    void run();
    Result<void> wait_for_others(const Job& job);
    void run_passes(const Job& job);
    void reach(std::uint64_t value, const Result<void>& waited);

    Observer observer_;
    mutable std::mutex mutex_;
    std::condition_variable submitted_, reached_;
    std::deque<Job> jobs_;
    std::vector<std::pair<std::uint64_t, std::function<void()>>> callbacks_;
    std::uint64_t value_ = 0;
    Result<void> state_;
    bool stop_ = false;
    std::thread thread_;  ///< last: starts when the rest exists
};

}  // namespace kinetograph::graph
