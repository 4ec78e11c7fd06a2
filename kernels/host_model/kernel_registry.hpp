#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

/// Kernels that this program has compiled for the host, found by the name that they have in a code object.
namespace kinetograph::host_model {

/// What KG_KERNEL says of a kernel, and the kernel itself: `run` is called once for every wave.
struct WaveKernel {
    const char* name;
    uint64_t parameter_bytes;
    uint32_t threads;  ///< of a workgroup, along x
    void (*run)(const void* parameters);
};

/// Made by KG_KERNEL before main() starts, and never again: the registry is constant while the program runs.
class KernelRegistration {
  public:
    explicit KernelRegistration(const WaveKernel& kernel);
};

/// Null when this program has no kernel of that name.
const WaveKernel* find_wave_kernel(std::string_view name);
/// By name.
std::vector<const WaveKernel*> wave_kernels();

}  // namespace kinetograph::host_model
