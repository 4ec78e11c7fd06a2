// GPUs that kernels are written for, described as if they were open, to ask dispatch about a device that is not
// present.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/kernels/conv/chips.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace kinetograph::conv {

/// One device of each architecture, in the order of the chips.
std::vector<KnownDevice> known_devices();

/// What gates and heuristics read of a device: kind, name, architecture, sizes. None for an unknown architecture.
std::optional<accel::DeviceInfo> describe_known_device(std::string_view architecture);

/// The same in the form that plans read. Rates are those of the known device of its architecture, or of its family
/// (sm_87: sm_86's); a device of neither is not Chip::rated.
Chip chip_of(const accel::DeviceInfo& device);

}  // namespace kinetograph::conv
