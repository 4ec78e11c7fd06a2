// NVIDIA GPUs as accelerators, through the CUDA driver opened at run time.
#pragma once

#include <kinetograph/engine/accel/backend.hpp>
#include <kinetograph/engine/accel/gpu/device.hpp>

namespace kinetograph::accel::gpu {
class EntryPointTable;
}  // namespace kinetograph::accel::gpu

namespace kinetograph::accel::cuda {

Backend backend();

/// DeviceOptions::library is the driver's; empty: KINETOGRAPH_CUDA_LIBRARY, or libcuda.so.1. CUDA_VISIBLE_DEVICES
/// decides which devices there are.
using gpu::DeviceOptions;

/// Every device that the driver shows, as create_device() would describe it.
/// Errors: NotFound (no driver, no device; "libcuda.so.1 not found: CUDA lane off"), and what the driver says.
Result<std::vector<DeviceInfo>> inspect_devices(const std::string& library = {});

/// Retains the device's primary context. Every call restores the context that was current on the caller's thread.
/// Device::adopt_stream takes a CUstream of the primary context; null is the default stream.
/// Errors: as inspect_devices(), OutOfRange (no device of that ordinal).
Result<std::unique_ptr<Device>> create_device(const DeviceOptions& options = {});

/// The calls of the driver that `device` and everything made by it have caused: gpu/entry_points.hpp; null if it is not
/// a CUDA device.
const gpu::EntryPointTable* driver_calls(const Device& device);

}  // namespace kinetograph::accel::cuda
