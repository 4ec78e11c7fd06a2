#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

/// Kernels that this program has compiled for the host, found by the name that they have in a code object or a fat
/// binary.
namespace kinetograph::host_model {

/// What KG_KERNEL or KG_CUDA_KERNEL says of a kernel, and the kernel itself: `run` is called once for every wave of an
/// AMD kernel (launch_waves), once for every thread of a CUDA kernel (launch_threads).
struct ModelKernel {
    const char* name;
    uint64_t parameter_bytes;
    uint32_t threads;  ///< of a workgroup or CTA, along x
    void (*run)(const void* parameters);
};

/// Made by KG_KERNEL or KG_CUDA_KERNEL before main() starts, and never again: the registry is constant while the
/// program runs.
class KernelRegistration {
  public:
    explicit KernelRegistration(const ModelKernel& kernel);
};

/// Null when this program has no kernel of that name.
const ModelKernel* find_model_kernel(std::string_view name);
/// By name.
std::vector<const ModelKernel*> model_kernels();

}  // namespace kinetograph::host_model
