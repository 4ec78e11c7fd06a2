// SameGpu: the CPU as an accelerator that poses as the GPU that draws: it maps the memory that lavapipe exports and
// waits for its semaphores. Also counts allocations.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>

#include <atomic>

namespace kinetograph::interop::testing {

struct SameGpuOptions {
    std::array<std::uint8_t, 16> uuid{};  ///< of the Vulkan device; zeros: of another device
    std::string_view kind = "hip";        ///< cpu: decoders can run on it
    bool imports_timelines = true;
    bool refuses_imports = false;  ///< claims to import, but fails to
    bool refuses_host_memory = false;
};

/// Calls that must not come in steady state.
struct AcceleratorCalls {
    std::atomic<int> allocations{0};  ///< memory, imports, streams, timelines, events
};

std::unique_ptr<accel::Device> create_same_gpu(const SameGpuOptions& options, AcceleratorCalls* calls = nullptr);

}  // namespace kinetograph::interop::testing
