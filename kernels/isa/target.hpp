#pragma once

#include <kinetograph/kernels/isa/host_device.hpp>

/// Where this translation unit's kernels run. Compiled by nvcc the wrappers of kernels/isa are inline PTX, compiled as
/// HIP for a GPU those of kernels/isa/amd are clang's built-ins; compiled by the host's C++ compiler the same spelling
/// calls kernels/host_model, which runs the kernel on the CPU. A kernel never asks which of them it is in.

#if defined(__CUDACC__)
#define KG_HOST_MODEL 0
#define KG_DEVICE __device__ __forceinline__
#define KG_UNROLL _Pragma("unroll")
/// Keeps a loop a loop, where unrolling would take registers that are not there.
#define KG_ROLLED _Pragma("unroll 1")
/// The last parameter of every wrapper on the host: where the kernel's author wrote the instruction.
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
/// The instruction as the model names it in messages, at the caller's line.
#define KG_AT(name) \
    kinetograph::host_model::Instruction { name, site }
#endif

#include <cstdint>
