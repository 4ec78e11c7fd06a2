// The CPU as an accelerator: streams are worker threads, kernels are host functions that use every core.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>

namespace kinetograph::accel::cpu {

struct DeviceOptions {
    std::uint64_t memory_limit = 0;  ///< bytes that allocate() may hand out in all; 0: the machine's memory
};

/// Never fails to exist; allocation beyond the machine's memory fails with OutOfMemory instead of being killed later.
std::unique_ptr<Device> create_device(const DeviceOptions& options = {});

}  // namespace kinetograph::accel::cpu
