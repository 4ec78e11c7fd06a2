// The CPU as an accelerator: streams are worker threads, kernels are host functions that use every core.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>

namespace kinetograph::accel::cpu {

/// Never fails to exist; allocation beyond what available_host_memory() says fails with OutOfMemory instead of being
/// killed later.
std::unique_ptr<Device> create_device(const DeviceHooks& hooks = {});

}  // namespace kinetograph::accel::cpu
