#pragma once

#include <kinetograph/kernels/isa/target.hpp>

/// KG_CUDA_KERNEL(name, Params, threads[, ctas_per_sm]) { ... } defines a kernel that the device finds by `name`. It
/// takes one plain struct, called `params`, by value. `threads`: at most this many per CTA. `ctas_per_sm`: at least
/// this many CTAs share the registers of an SM. The host's build registers it under the same name
/// (kernel_registry.hpp).
#if KG_HOST_MODEL
#include <kinetograph/kernels/host_model/kernel_registry.hpp>
namespace kinetograph::isa {
/// Arguments of __launch_bounds__.
struct LaunchBounds {
    uint32_t threads = 0, ctas_per_sm = 1;
};
}  // namespace kinetograph::isa
#define KG_CUDA_KERNEL(name, Params, ...)                                                \
    static void name##_body(const Params& params);                                       \
    static const kinetograph::host_model::KernelRegistration name##_registration(        \
        {#name, sizeof(Params), kinetograph::isa::LaunchBounds{__VA_ARGS__}.threads,     \
         [](const void* params) { name##_body(*static_cast<const Params*>(params)); }}); \
    static void name##_body(const Params& params)
#else
#define KG_CUDA_KERNEL(name, Params, ...) \
    extern "C" __global__ void __launch_bounds__(__VA_ARGS__) name(const __grid_constant__ Params params)
#endif
