// AMD GPUs as accelerators, through the HIP runtime opened at run time.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>

#include <vector>

namespace kinetograph::accel::hip {

struct DeviceOptions {
    std::string library;  ///< of the HIP runtime; empty: KINETOGRAPH_HIP_LIBRARY, or the newest libamdhip64 there is
    std::uint32_t ordinal = 0;  ///< index into inspect_devices()
};

/// Every device of the runtime, as create_device() would describe it.
/// Errors: NotFound (no runtime, no device; "libamdhip64.so.7, libamdhip64.so.6, libamdhip64.so not found: HIP lane
/// off"), and what the runtime says.
Result<std::vector<DeviceInfo>> inspect_devices(const std::string& library = {});

/// Errors: as inspect_devices(), OutOfRange (no device of that ordinal).
Result<std::unique_ptr<Device>> create_device(const DeviceOptions& options = {});

}  // namespace kinetograph::accel::hip
