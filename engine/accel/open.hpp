// Accelerators by name: the one place that knows which kinds this build has.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>

#include <vector>

namespace kinetograph::accel {

/// What one kind of accelerator is on this machine, in this build.
struct Availability {
    Kind kind = Kind::Cpu;
    std::optional<DeviceInfo> device;  ///< what open() would give; empty: nothing
    std::string situation;             ///< one sentence: what serves it, or what is missing
};

/// Every kind, the CPU first; the drivers of the others are opened to ask them.
std::vector<Availability> inspect_accelerators();

/// The first device of a kind. Errors: Unsupported (not in this build), NotFound ("libamdhip64.so.7, ... not found: HIP
/// lane off"), and what the driver says.
Result<std::unique_ptr<Device>> open(Kind kind);
/// The same by the kind's name: "cpu", "cuda", "hip". Errors also: InvalidArgument (no kind is called so).
Result<std::unique_ptr<Device>> open(std::string_view kind);

}  // namespace kinetograph::accel
