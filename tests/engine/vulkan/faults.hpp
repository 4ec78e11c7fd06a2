// Faults: a Vulkan loader with injected faults, between our loader and the real one.
#pragma once

#include <kinetograph/engine/vulkan/loader.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>

namespace kinetograph::vulkan::testing {

/// The injected faults and the counters. One set per process, because Vulkan's entry points are plain functions.
struct Faults {
    std::atomic<bool> no_driver{false};            ///< vkCreateInstance
    std::atomic<bool> no_layers{false};            ///< vkEnumerateInstanceLayerProperties
    std::atomic<bool> no_devices{false};           ///< vkEnumeratePhysicalDevices
    std::atomic<bool> old_device{false};           ///< Vulkan 1.2
    std::atomic<bool> no_synchronization2{false};  ///< and no dynamicRendering
    std::atomic<bool> no_calibrated_timestamps{false};
    std::atomic<bool> no_external_memory_host{false};
    std::atomic<bool> no_host_imports{false};  ///< vkGetMemoryHostPointerPropertiesEXT: the driver declines the pages
    /// The device exports timeline semaphores, which lavapipe does not: see import_payload().
    std::atomic<bool> exports_semaphores{false};
    std::atomic<bool> out_of_memory{false};                             ///< vkAllocateMemory
    std::atomic<bool> tells_budget{false};                              ///< has VK_EXT_memory_budget, unlike lavapipe
    std::atomic<std::uint64_t> heap_bytes_left{~std::uint64_t{0} / 2};  ///< of every heap, as reported then
    std::atomic<bool> tells_screen{false};                              ///< has VK_KHR_present_wait, unlike lavapipe
    std::atomic<bool> drops_presents{false};  ///< vkQueuePresentKHR succeeds and does nothing; set before the device
    std::atomic<std::uint64_t> on_screen{0};  ///< newest VkPresentIdKHR on the screen, then
    std::atomic<std::uint64_t> presented{0};  ///< newest one that was presented
    std::atomic<int> screen_waits{0};         ///< vkWaitForPresentKHR that have begun
    std::atomic<int> waits_for_destroyed{0};  ///< swapchains destroyed during such a wait
    std::atomic<bool> no_command_buffers{false};  ///< vkAllocateCommandBuffers: out of memory
    std::atomic<bool> refuses_signals{false};     ///< vkSignalSemaphore: out of memory
    std::atomic<bool> device_lost{false};         ///< submissions, waits and queries of every kind
    std::atomic<int> submissions_left{-1};        ///< until device_lost; negative: unlimited
    void recover();                               ///< ends device_lost, for the next device
    std::atomic<int> allocations{0};              ///< of memory, command pools, descriptor pools and query pools
    std::atomic<int> objects{0};                  ///< buffers and semaphores
    std::atomic<int> alive{0};                    ///< objects and memory that exist now
    std::atomic<int> waits{0};  ///< vkWaitSemaphores with time to wait and vkDeviceWaitIdle on `watched`
    std::atomic<std::thread::id> watched{};
    void reset();
};
Faults& faults();

/// What an exported timeline semaphore, its descriptors and its importers share. As with a real descriptor, it
/// outlives the semaphore and the device.
class Payload {
  public:
    Payload(VkDevice device, VkSemaphore semaphore) : device_(device), semaphore_(semaphore) {}
    ~Payload();
    Payload(const Payload&) = delete;
    Payload& operator=(const Payload&) = delete;

    std::uint64_t value() const;
    void signal(std::uint64_t value);
    /// False if `timeout` passes first.
    bool wait(std::uint64_t value, std::optional<std::chrono::nanoseconds> timeout) const;

    VkDevice device() const;        ///< null once it is destroyed
    VkSemaphore semaphore() const;  ///< null once its owner has destroyed it
    void leave_semaphore() { is_orphan_ = true; }
    void leave_device();

  private:
    mutable std::shared_mutex mutex_;  ///< held exclusively while the device is destroyed
    VkDevice device_;
    VkSemaphore semaphore_;
    std::atomic<bool> is_orphan_{false};
    std::atomic<std::uint64_t> last_{0};  ///< the value, once the device is destroyed
};
/// The payload of a descriptor that a device with exports_semaphores exported. The import consumes the descriptor; the
/// caller closes it.
std::shared_ptr<Payload> import_payload(int fd);

/// The system's loader with the faults in front of it.
Result<Loader> faulty_loader();

}  // namespace kinetograph::vulkan::testing
