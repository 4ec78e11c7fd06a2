// Faults: a Vulkan loader that misbehaves on demand, between ours and the real one.
#pragma once

#include <kinetograph/engine/vulkan/loader.hpp>

#include <atomic>
#include <string>

namespace kinetograph::vulkan::testing {

/// What goes wrong, and what is counted. One set for the process, because Vulkan's entry points are plain functions.
struct Faults {
    std::atomic<bool> no_driver{false};            ///< vkCreateInstance
    std::atomic<bool> no_layers{false};            ///< vkEnumerateInstanceLayerProperties
    std::atomic<bool> no_devices{false};           ///< vkEnumeratePhysicalDevices
    std::atomic<bool> old_device{false};           ///< Vulkan 1.2
    std::atomic<bool> no_synchronization2{false};  ///< and no dynamicRendering
    std::atomic<bool> no_calibrated_timestamps{false};
    std::atomic<bool> out_of_memory{false};  ///< vkAllocateMemory
    std::atomic<bool> device_lost{false};    ///< vkQueueSubmit2
    std::atomic<int> allocations{0};         ///< of memory, command pools, descriptor pools and query pools
    void reset();
};
Faults& faults();

/// The system's loader with the faults in front of it.
Result<Loader> faulty_loader();

}  // namespace kinetograph::vulkan::testing
