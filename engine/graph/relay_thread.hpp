// RelayThread: waits for lanes on behalf of an API that cannot see their timelines.
#pragma once

#include <kinetograph/engine/graph/executor.hpp>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace kinetograph::graph {

/// Blocks on other lanes, promise after promise, and says after each that its value may be signalled: to a Vulkan
/// timeline semaphore, to memory that a stream watches. If a lane fails, the value is signalled all the same, so that
/// nothing hangs, and error() tells. Once its two lists have grown to what is in flight, a promise allocates nothing.
class RelayThread {
  public:
    /// Called on the relay's thread with 1, 2, 3, ...
    using Signal = std::function<void(std::uint64_t value)>;
    explicit RelayThread(Signal signal);
    ~RelayThread();  ///< first brings every promised value
    RelayThread(const RelayThread&) = delete;
    RelayThread& operator=(const RelayThread&) = delete;

    /// The value that will be signalled once all `waits`, and those of earlier promises, are done. Any thread.
    std::uint64_t promise(std::span<const ResolvedWait> waits);
    std::optional<Error> error() const;  ///< the first failure of a lane

  private:
    /// Promises in order: `counts[i]` of `waits` belong to the i-th.
    struct Promises {
        std::vector<std::size_t> counts;
        std::vector<ResolvedWait> waits;
        void clear() {
            counts.clear();
            waits.clear();
        }
    };
    void run();
    void wait_for(std::span<const ResolvedWait> waits);

    Signal signal_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    Promises promised_;
    std::uint64_t newest_ = 0;
    bool stop_ = false;
    std::optional<Error> error_;
    std::thread thread_;  ///< last: starts when the rest exists
};

}  // namespace kinetograph::graph
