#pragma once

/// Functions that both kernels and host code call.
#if defined(__CUDACC__)
#define KG_HOST_DEVICE __host__ __device__ constexpr
#elif defined(__HIP__)
#define KG_HOST_DEVICE __attribute__((host, device)) constexpr
#else
#define KG_HOST_DEVICE constexpr
#endif
