// What a Vulkan device's heaps hold, as the profiler shows it.
#pragma once

#include <kinetograph/engine/profile/profile.hpp>
#include <kinetograph/engine/vulkan/memory_pool.hpp>

#include <span>
#include <string>
#include <vector>

namespace kinetograph::viewer {

/// The heaps for which the driver reports a budget. Each is named by its kind and its index in Vulkan, because a device
/// may have several of one kind, such as its memory and the part of it that the host can map.
std::vector<profile::MemoryUse> heap_uses(const std::string& device, std::span<const vulkan::MemoryHeap> heaps);

}  // namespace kinetograph::viewer
