// Relay: lets a queue wait for a lane whose timeline Vulkan cannot see (the host, most accelerators).
#pragma once

#include <kinetograph/engine/graph/relay_thread.hpp>

#include <vulkan/vulkan_core.h>

namespace kinetograph::vulkan {

class Device;

/// A timeline semaphore that a relay thread signals.
class Relay {
  public:
    static Result<std::unique_ptr<Relay>> create(const Device& device);
    ~Relay();  ///< first brings every promised value
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;

    /// The value of semaphore() that will be signalled once all `waits` are done.
    std::uint64_t promise(std::span<const graph::ResolvedWait> waits) { return thread_->promise(waits); }
    VkSemaphore semaphore() const { return semaphore_; }
    std::optional<Error> error() const { return thread_->error(); }  ///< the first failure of a lane

  private:
    explicit Relay(const Device& device) : device_(device) {}
    void signal(std::uint64_t value) const;

    const Device& device_;
    VkSemaphore semaphore_ = VK_NULL_HANDLE;
    std::unique_ptr<graph::RelayThread> thread_;
};

/// Whether another API may import a semaphore: as an opaque file descriptor, by export_timeline_fd().
enum class Sharing : std::uint8_t { Private, Exportable };

/// A timeline semaphore that starts at 0. Errors: Unsupported (exportable, but VK_KHR_external_semaphore_fd is absent).
Result<VkSemaphore> create_timeline(const Device& device, std::string_view name, Sharing sharing = Sharing::Private);

/// A new opaque file descriptor of an exportable timeline; the importer closes it.
Result<int> export_timeline_fd(const Device& device, VkSemaphore timeline, std::string_view name);

/// Blocks the calling thread until `timeline` has reached `value`; false after `timeout`.
Result<bool> wait_timeline(const Device& device, VkSemaphore timeline, std::uint64_t value, Nanoseconds timeout);

}  // namespace kinetograph::vulkan
