#pragma once

#include <kinetograph/kernels/cuda/sm90/conv_configs.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_kernel.hpp>
#include <kinetograph/kernels/isa/kernel.hpp>

/// A row of conv_configs.hpp as a kernel, without sums in memory and with.
#define KG_SM90_CONV_ENTRY(name, config) KG_CUDA_KERNEL(name, ConvParams, kThreads, 1) { ConvKernel<config>::run(params); }
#define KG_SM90_SUM_ENTRY(name, config) KG_CUDA_KERNEL(name, SumConvParams, kThreads, 1) { ConvKernel<config>::run(params); }
