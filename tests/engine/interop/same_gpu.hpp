// SameGpu: the CPU as an accelerator that passes for the GPU which draws: it maps the memory that lavapipe exports and
// waits for its semaphores. Also counts what an accelerator is asked for.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>

#include <atomic>

namespace kinetograph::interop::testing {

struct SameGpuOptions {
    std::array<std::uint8_t, 16> uuid{};  ///< of the Vulkan device; zeros: another device than that
    accel::Kind kind = accel::Kind::Hip;  ///< Cpu: kernels of the decoders find the processor that it is
    bool imports_timelines = true;
    bool refuses_imports = false;  ///< says it can, and fails when asked
    bool refuses_host_memory = false;
};

/// Calls that must not come in steady state.
struct AcceleratorCalls {
    std::atomic<int> allocations{0};  ///< memory, imports, streams, timelines, events
};

std::unique_ptr<accel::Device> create_same_gpu(const SameGpuOptions& options, AcceleratorCalls* calls = nullptr);

}  // namespace kinetograph::interop::testing
