#pragma once

#include <kinetograph/kernels/cuda/sm80/conv_configs.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_kernel.hpp>
#include <kinetograph/kernels/isa/kernel.hpp>

/// A row of conv_configs.hpp as a kernel.
#define KG_SM80_CONV_ENTRY(name, ...)                                                                          \
    KG_CUDA_KERNEL(sm80_conv_##name, kinetograph::sm80::ConvParams,                                            \
                   kinetograph::sm80::threads(kinetograph::sm80::name), kinetograph::sm80::name.ctas_per_sm) { \
        kinetograph::sm80::ConvKernel<kinetograph::sm80::name>::run(params);                                   \
    }
