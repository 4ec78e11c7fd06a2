#pragma once

#include <kinetograph/kernels/cuda/sm100/conv2d_configs.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_fprop.hpp>
#include <kinetograph/kernels/isa/kernel.hpp>

/// A row of conv2d_configs.hpp as a kernel: for the chip, or registered for the host model.
#if KG_HOST_MODEL
#define KG_SM100_KERNEL(name, config, function)                               \
    using name##_params = kinetograph::sm100::Conv2dParams<config, function>; \
    KG_CUDA_KERNEL(name, name##_params, kinetograph::sm100::kThreads, 1) {    \
        kinetograph::sm100::Conv2dFpropKernel<config, function>::run(params); \
    }
#else
#define KG_SM100_KERNEL(name, config, function)                                                       \
    extern "C" __global__ void __cluster_dims__(config.cluster.x, config.cluster.y, 1)                \
        __launch_bounds__(kinetograph::sm100::kThreads, 1)                                            \
            name(const __grid_constant__ kinetograph::sm100::Conv2dParams<config, function> params) { \
        kinetograph::sm100::Conv2dFpropKernel<config, function>::run(params);                         \
    }
#endif
