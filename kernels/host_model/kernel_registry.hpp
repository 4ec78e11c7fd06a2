#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

/// Kernels compiled into this program for the host, looked up by their name in a code object or a fat binary.
namespace kinetograph::host_model {

/// What KG_KERNEL or KG_CUDA_KERNEL declares, and the kernel itself: `run` is called once for each wave of an AMD
/// kernel (launch_waves), once for each thread of a CUDA kernel (launch_threads).
struct ModelKernel {
    const char* name;
    uint64_t parameter_bytes;
    uint32_t threads;  ///< of a workgroup or CTA, along x
    void (*run)(const void* parameters);
};

/// Constructed by KG_KERNEL or KG_CUDA_KERNEL before main() starts: the registry is constant while the program runs.
class KernelRegistration {
  public:
    explicit KernelRegistration(const ModelKernel& kernel);
};

/// Null if this program has no kernel of that name.
const ModelKernel* find_model_kernel(std::string_view name);
/// Sorted by name.
std::vector<const ModelKernel*> model_kernels();

}  // namespace kinetograph::host_model
