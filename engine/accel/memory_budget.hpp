// MemoryBudget: how much of a device's memory may be held, and what the application does when that is not enough.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace kinetograph::accel {

/// An allocation that is about to be refused.
struct MemoryPressure {
    std::string_view name;     ///< of the allocation: "transient arena"
    std::uint64_t bytes = 0;   ///< that it needs
    std::uint64_t free = 0;    ///< Device::bytes_free()
    std::uint64_t budget = 0;  ///< MemoryBudget::bytes; 0: none, the device itself refuses
};

/// Concerns Device::allocate; a GPU's pinned memory is host memory and does not count.
struct MemoryBudget {
    std::uint64_t bytes = 0;  ///< that may be held at a time; 0: as much as the device has
    /// Called on the thread that allocates. Returns true if memory has been released (other clips, the application's
    /// own): the allocation is then tried once more. It may release memory of the same device, but must not allocate
    /// any.
    std::function<bool(const MemoryPressure& pressure)> on_pressure{};
};

}  // namespace kinetograph::accel
