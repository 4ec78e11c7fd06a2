#pragma once

#include <kinetograph/kernels/isa/host_device.hpp>

/// Where this translation unit's kernels run. Under nvcc the wrappers of kernels/isa are inline PTX; under HIP for a
/// GPU those of kernels/isa/amd are clang's built-ins; under the host's C++ compiler the same functions call
/// kernels/host_model, which runs the kernel on the CPU. The kernel's source is the same for all three.

#if defined(__CUDACC__)
#define KG_HOST_MODEL 0
#define KG_DEVICE __device__ __forceinline__
#define KG_UNROLL _Pragma("unroll")
/// Keeps a loop rolled if unrolling would need too many registers.
#define KG_ROLLED _Pragma("unroll 1")
/// The last parameter of every wrapper on the host: the source location of the call.
#define KG_SITE
#define KG_SITE_ONLY
#elif defined(__HIP__)  // clang -x hip --offload-device-only, without HIP's headers
#define KG_HOST_MODEL 0
#define KG_DEVICE __attribute__((device, always_inline)) inline
#define KG_UNROLL _Pragma("unroll")
#define KG_ROLLED _Pragma("nounroll")
#define KG_SITE
#define KG_SITE_ONLY
#else
#define KG_HOST_MODEL 1
#define KG_DEVICE inline
#define KG_UNROLL
#define KG_ROLLED
#include <kinetograph/kernels/host_model/instructions.hpp>
#define KG_SITE_ONLY kinetograph::host_model::Site site = kinetograph::host_model::Site::here()
#define KG_SITE , KG_SITE_ONLY
/// The instruction's name for the model's messages, with the caller's line.
#define KG_AT(name) \
    kinetograph::host_model::Instruction { name, site }
#endif

#include <cstdint>
