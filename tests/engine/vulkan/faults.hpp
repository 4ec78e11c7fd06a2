// Faults: a Vulkan loader with injected faults, between our loader and the real one.
#pragma once

#include <kinetograph/engine/vulkan/loader.hpp>

#include <atomic>
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
    /// The device exports timeline semaphores, which lavapipe does not: see semaphore_behind().
    std::atomic<bool> exports_semaphores{false};
    std::atomic<bool> out_of_memory{false};  ///< vkAllocateMemory
    std::atomic<bool> device_lost{false};    ///< submissions, waits and queries of every kind
    std::atomic<int> submissions_left{-1};   ///< until device_lost; negative: endless
    void recover();                          ///< ends device_lost, for the next device
    std::atomic<int> allocations{0};         ///< of memory, command pools, descriptor pools and query pools
    std::atomic<int> objects{0};             ///< buffers and semaphores
    std::atomic<int> semaphores{0};          ///< that exist now
    std::atomic<int> waits{0};               ///< vkWaitSemaphores with time to wait and vkDeviceWaitIdle on `watched`
    std::atomic<std::thread::id> watched{};
    void reset();
};
Faults& faults();

/// The semaphore whose descriptor a device with exports_semaphores gave out, and the device.
struct ExportedSemaphore {
    VkDevice device = VK_NULL_HANDLE;
    VkSemaphore semaphore = VK_NULL_HANDLE;
};
ExportedSemaphore semaphore_behind(int fd);
/// A function of the real device, for code that imported something from it.
PFN_vkVoidFunction device_function(VkDevice device, const char* name);

/// The system's loader with the faults before it.
Result<Loader> faulty_loader();

}  // namespace kinetograph::vulkan::testing
