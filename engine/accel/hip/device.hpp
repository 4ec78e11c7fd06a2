// AMD GPUs as accelerators, through the HIP runtime opened at run time.
#pragma once

#include <kinetograph/engine/accel/backend.hpp>
#include <kinetograph/engine/accel/gpu/device.hpp>

namespace kinetograph::accel::hip {

Backend backend();

/// DeviceOptions::library is the HIP runtime; empty: KINETOGRAPH_HIP_LIBRARY, or the newest libamdhip64 there is.
using gpu::DeviceOptions;

/// Every device of the runtime, as create_device() would describe it.
/// Errors: NotFound (no runtime, no device; "libamdhip64.so.7, libamdhip64.so.6, libamdhip64.so not found: HIP lane
/// off"), and what the runtime says.
Result<std::vector<DeviceInfo>> inspect_devices(const std::string& library = {});

/// Device::adopt_stream takes a hipStream_t of the same GPU. Errors: as inspect_devices(), OutOfRange (no device of
/// that ordinal).
Result<std::unique_ptr<Device>> create_device(const DeviceOptions& options = {});

}  // namespace kinetograph::accel::hip
