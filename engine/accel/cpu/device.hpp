// The CPU as an accelerator: streams are worker threads, kernels are host functions that use every core.
#pragma once

#include <kinetograph/engine/accel/backend.hpp>

namespace kinetograph::accel::cpu {

Backend backend();

/// Never fails. An allocation larger than available_host_memory() fails with OutOfMemory, instead of having the system
/// kill the process later.
std::unique_ptr<Device> create_device(const DeviceHooks& hooks = {});

}  // namespace kinetograph::accel::cpu
