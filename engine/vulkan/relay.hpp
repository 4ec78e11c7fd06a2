// Relay: lets a queue wait for a lane whose timeline Vulkan cannot see (the host, a CPU accelerator).
#pragma once

#include <kinetograph/engine/graph/executor.hpp>

#include <vulkan/vulkan_core.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace kinetograph::vulkan {

class Device;

/// A thread that blocks on other lanes in order, and signals a timeline semaphore of ours after each.
/// If a lane fails, the value is signalled all the same, so that no queue hangs, and error() tells.
class Relay {
  public:
    static Result<std::unique_ptr<Relay>> create(const Device& device);
    ~Relay();  ///< first brings every promised value
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

    /// The value of semaphore() that will be signalled once all `waits` are done.
    std::uint64_t promise(std::vector<graph::ResolvedWait> waits);
    VkSemaphore semaphore() const { return semaphore_; }
    std::optional<Error> error() const;  ///< the first failure of a lane

  private:
    explicit Relay(const Device& device) : device_(device) {}
    void run();

    const Device& device_;
    VkSemaphore semaphore_ = VK_NULL_HANDLE;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::vector<graph::ResolvedWait>> tasks_;
    std::uint64_t promised_ = 0;
    bool stop_ = false;
    std::optional<Error> error_;
    std::thread thread_;
};

/// A timeline semaphore that starts at 0.
Result<VkSemaphore> create_timeline(const Device& device, std::string_view name);

}  // namespace kinetograph::vulkan
