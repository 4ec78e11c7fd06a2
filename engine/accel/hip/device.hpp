// AMD GPUs as accelerators, through the HIP runtime opened at run time.
#pragma once

#include <kinetograph/engine/accel/gpu/device.hpp>

namespace kinetograph::accel::hip {

/// DeviceOptions::library is the HIP runtime; empty: KINETOGRAPH_HIP_LIBRARY, or the newest libamdhip64 there is.
using gpu::DeviceOptions;

/// Every device of the runtime, as create_device() would describe it.
/// Errors: NotFound (no runtime, no device; "libamdhip64.so.7, libamdhip64.so.6, libamdhip64.so not found: HIP lane
/// off"), and what the runtime says.
Result<std::vector<DeviceInfo>> inspect_devices(const std::string& library = {});

/// Errors: as inspect_devices(), OutOfRange (no device of that ordinal).
Result<std::unique_ptr<Device>> create_device(const DeviceOptions& options = {});

/// Makes a stream of `device` from the caller's hipStream_t on the same GPU: work enqueued here is ordered with the
/// caller's own. The caller keeps it and may destroy it once nothing more is enqueued; the result then only waits for
/// the signals that it was given. Errors: InvalidArgument (a device of another kind).
Result<std::unique_ptr<Stream>> adopt_stream(Device& device, std::string_view name, void* stream);

}  // namespace kinetograph::accel::hip
