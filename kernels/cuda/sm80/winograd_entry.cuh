#pragma once

#include <kinetograph/kernels/cuda/sm80/winograd_configs.hpp>
#include <kinetograph/kernels/cuda/sm80/winograd_kernel.hpp>
#include <kinetograph/kernels/isa/kernel.hpp>

/// A row of winograd_configs.hpp as a kernel.
#define KG_SM80_WINOGRAD_ENTRY(name, ...)                                                   \
    KG_CUDA_KERNEL(sm80_winograd_##name, kinetograph::sm80::WinogradParams,                 \
                   kinetograph::sm80::threads(kinetograph::sm80::winograd_##name),          \
                   kinetograph::sm80::winograd_##name.ctas_per_sm) {                        \
        kinetograph::sm80::WinogradKernel<kinetograph::sm80::winograd_##name>::run(params); \
    }
