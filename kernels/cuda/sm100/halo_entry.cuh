#pragma once

#include <kinetograph/kernels/cuda/sm100/halo_configs.hpp>
#include <kinetograph/kernels/cuda/sm100/halo_kernel.hpp>
#include <kinetograph/kernels/isa/kernel.hpp>

/// A row of halo_configs.hpp as a kernel.
#define KG_SM100_HALO_ENTRY(name, config) KG_CUDA_KERNEL(name, HaloParams, kThreads, 1) { HaloKernel<config>::run(params); }
