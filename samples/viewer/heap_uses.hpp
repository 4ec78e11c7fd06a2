// What a Vulkan device's heaps hold, as the profiler shows it.
#pragma once

#include <kinetograph/engine/profile/profile.hpp>
#include <kinetograph/engine/vulkan/memory_pool.hpp>

#include <span>
#include <string>
#include <vector>

namespace kinetograph::viewer {

/// Of the heaps of which the driver tells. Each is named by its kind and by Vulkan's number of it, for a device may
/// have several of one kind: its memory, and what of that the host sees.
std::vector<profile::MemoryUse> heap_uses(const std::string& device, std::span<const vulkan::MemoryHeap> heaps);

}  // namespace kinetograph::viewer
