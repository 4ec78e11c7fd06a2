// GPUs that kernels are written for, as an open device would describe itself: for asking dispatch about a device that
// need not be there.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/kernels/conv/chip.hpp>

#include <optional>
#include <span>
#include <string_view>

namespace kinetograph::conv {

struct KnownDevice {
    std::string_view architecture;  ///< "sm_100"
    std::string_view name;          ///< "NVIDIA B200"
    accel::Kind kind;
    std::uint64_t memory_bytes;
    std::uint32_t compute_units;
    std::uint32_t shared_bytes_per_block;
    double clocks_per_second;        ///< that its matrix units keep up
    double memory_bytes_per_second;  ///< by the data sheet
};

/// One device of each architecture. Source: the vendors' data sheets and programming guides.
std::span<const KnownDevice> known_devices();

/// What gates and heuristics read of a device: kind, name, architecture, sizes. Nothing for an unknown architecture.
std::optional<accel::DeviceInfo> describe_known_device(std::string_view architecture);

/// The same as plans read it. Rates are those of the known device of its architecture, for others those of the H200.
Chip chip_of(const accel::DeviceInfo& device);

}  // namespace kinetograph::conv
