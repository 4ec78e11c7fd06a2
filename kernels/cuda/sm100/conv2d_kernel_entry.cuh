#pragma once

#include <kinetograph/kernels/cuda/sm100/conv2d_entries.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_fprop.hpp>

/// A row of conv2d_entries.hpp as a kernel.
#define KG_SM100_KERNEL(name, config, function)                                                       \
    extern "C" __global__ void __cluster_dims__(config.cluster.x, config.cluster.y, 1)                \
        __launch_bounds__(kinetograph::sm100::kThreads, 1)                                            \
            name(const __grid_constant__ kinetograph::sm100::Conv2dParams<config, function> params) { \
        kinetograph::sm100::Conv2dFpropKernel<config, function>::run(params);                         \
    }
