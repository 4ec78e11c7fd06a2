#pragma once

#include <kinetograph/kernels/cuda/sm80/slab_configs.hpp>
#include <kinetograph/kernels/cuda/sm80/slab_kernel.hpp>
#include <kinetograph/kernels/isa/kernel.hpp>

/// A row of slab_configs.hpp as a kernel.
#define KG_SM80_SLAB_ENTRY(name, ...)                                                                               \
    KG_CUDA_KERNEL(sm80_##name, kinetograph::sm80::ConvParams, kinetograph::sm80::threads(kinetograph::sm80::name), \
                   kinetograph::sm80::name.ctas_per_sm) {                                                           \
        kinetograph::sm80::SlabKernel<kinetograph::sm80::name>::run(params);                                        \
    }
