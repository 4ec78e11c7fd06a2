// Vulkan timelines: semaphores that queues, the host and, if exported, other APIs signal and wait for.
#pragma once

#include <kinetograph/engine/vulkan/display.hpp>

#include <vulkan/vulkan_core.h>

#include <string_view>

namespace kinetograph::vulkan {

/// A timeline semaphore that starts at 0. Errors: Unsupported (exportable, but VK_KHR_external_semaphore_fd is absent).
Result<VkSemaphore> create_timeline(const Device& device, std::string_view name, Sharing sharing = Sharing::Private);

/// A new opaque file descriptor of an exportable timeline; the importer closes it.
Result<int> export_timeline_fd(const Device& device, VkSemaphore timeline, std::string_view name);

/// Blocks the calling thread until `timeline` has reached `value`; false after `timeout`.
Result<bool> wait_timeline(const Device& device, VkSemaphore timeline, std::uint64_t value, Nanoseconds timeout);

/// A timeline semaphore of the engine or of the application. The device outlives it.
class TimelineSemaphore final : public graph::Timeline {
  public:
    static Result<std::shared_ptr<TimelineSemaphore>> create(const Device& device, std::string name,
                                                             Sharing sharing = Sharing::Private);
    /// Wraps the application's semaphore, which the application destroys after this object.
    static std::shared_ptr<TimelineSemaphore> borrow(const Device& device, VkSemaphore semaphore);
    /// Another API's or device's, by an opaque file descriptor, which belongs to the driver once this has succeeded.
    /// Errors: Unsupported (VK_KHR_external_semaphore_fd is absent), what the driver says.
    static Result<std::shared_ptr<TimelineSemaphore>> import_fd(const Device& device, std::string name, int fd);
    ~TimelineSemaphore() override;  ///< calls Device::retire if the engine owns it
    TimelineSemaphore(const TimelineSemaphore&) = delete;
    TimelineSemaphore& operator=(const TimelineSemaphore&) = delete;

    const void* owner() const override { return &device_; }
    VkSemaphore handle() const { return semaphore_; }
    std::uint64_t counter() const override;  ///< of the semaphore: equal for all objects that wrap it
    std::uint64_t value() const override;
    bool wait(std::uint64_t value, std::optional<Nanoseconds> timeout = {}) override;
    /// Does nothing if the value is already reached. No queue may be about to signal a smaller value. If the driver
    /// refuses, status() reports that from then on, and it is logged unless the device is lost.
    void signal(std::uint64_t value) override;
    /// DeviceLost, as soon as the driver knows.
    Result<void> status() const override;

  private:
    TimelineSemaphore(const Device& device, VkSemaphore semaphore, bool owned)
        : device_(device), semaphore_(semaphore), owned_(owned) {}
    const Device& device_;
    VkSemaphore semaphore_;
    bool owned_;
};

}  // namespace kinetograph::vulkan
