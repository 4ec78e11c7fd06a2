// Relay: lets streams wait for a lane whose timeline their device does not know (Vulkan, the host, another
// accelerator).
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/graph/executor.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace kinetograph::accel {

/// A thread that blocks on other lanes in order, and signals a timeline of the device after each: what the plan's pair
/// of lanes costs where the device cannot import the other side's semaphores. If a lane fails, the value is signalled
/// all the same, so that no stream hangs, and error() tells.
class Relay {
  public:
    static Result<std::unique_ptr<Relay>> create(Device& device);
    ~Relay();  ///< first brings every promised value
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

    /// The value of timeline() that will be signalled once all `waits` are done.
    std::uint64_t promise(std::vector<graph::ResolvedWait> waits);
    const std::shared_ptr<Timeline>& timeline() const { return timeline_; }
    std::optional<Error> error() const;  ///< the first failure of a lane

  private:
    explicit Relay(std::shared_ptr<Timeline> timeline);
    void run();

    std::shared_ptr<Timeline> timeline_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::vector<graph::ResolvedWait>> tasks_;
    std::uint64_t promised_ = 0;
    bool stop_ = false;
    std::optional<Error> error_;
    std::thread thread_;
};

}  // namespace kinetograph::accel
