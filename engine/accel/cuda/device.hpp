// NVIDIA GPUs as accelerators, through the CUDA driver opened at run time.
#pragma once

#include <kinetograph/engine/accel/gpu/device.hpp>

namespace kinetograph::accel::gpu {
class EntryPointTable;
}  // namespace kinetograph::accel::gpu

namespace kinetograph::accel::cuda {

/// The library is the driver's; empty: KINETOGRAPH_CUDA_LIBRARY, or libcuda.so.1. CUDA_VISIBLE_DEVICES decides which
/// devices there are.
using gpu::DeviceOptions;

/// Every device that the driver shows, as create_device() would describe it.
/// Errors: NotFound (no driver, no device; "libcuda.so.1 not found: CUDA lane off"), and what the driver says.
Result<std::vector<DeviceInfo>> inspect_devices(const std::string& library = {});

/// Retains the device's primary context. No call leaves it current on a thread of the caller's that had another, or
/// none. Errors: as inspect_devices(), OutOfRange (no device of that ordinal).
Result<std::unique_ptr<Device>> create_device(const DeviceOptions& options = {});

/// A CUstream of the caller's, of the device's primary context, as a stream of `device`: our work takes its place among
/// theirs. It stays the caller's, who may destroy it once nothing more is enqueued; then the result only waits for the
/// signals that it was given. Errors: InvalidArgument (a device of another kind, a stream
/// of another context), what the driver says.
Result<std::unique_ptr<Stream>> adopt_stream(Device& device, std::string_view name, void* stream);

/// The calls of the driver that `device` and everything made by it have caused: gpu/entry_points.hpp; null where it is
/// no CUDA device.
const gpu::EntryPointTable* driver_calls(const Device& device);

}  // namespace kinetograph::accel::cuda
