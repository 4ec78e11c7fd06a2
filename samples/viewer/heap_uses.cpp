#include <kinetograph/samples/viewer/heap_uses.hpp>

#include <fmt/core.h>

namespace kinetograph::viewer {

std::vector<profile::MemoryUse> heap_uses(const std::string& device, std::span<const vulkan::MemoryHeap> heaps) {
    std::vector<profile::MemoryUse> uses;
    for (std::size_t i = 0; i < heaps.size(); ++i)
        if (heaps[i].budget > 0)
            uses.push_back({device, fmt::format("{} heap {}", heaps[i].device_local ? "device" : "host", i),
                            heaps[i].used, heaps[i].budget});
    return uses;
}

}  // namespace kinetograph::viewer
