// GPUs that kernels are written for, described as if they were open, to ask dispatch about a device that is not
// present.
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
    double clocks_per_second;        ///< sustained by its matrix units
    double memory_bytes_per_second;  ///< from the data sheet
};

/// One device of each architecture. Source: the vendors' data sheets and programming guides.
std::span<const KnownDevice> known_devices();

/// What gates and heuristics read of a device: kind, name, architecture, sizes. None for an unknown architecture.
std::optional<accel::DeviceInfo> describe_known_device(std::string_view architecture);

/// The same in the form that plans read. Rates are those of the known device of its architecture, otherwise an H200's.
Chip chip_of(const accel::DeviceInfo& device);

}  // namespace kinetograph::conv
