#pragma once

#include <kinetograph/kernels/cuda/sm90/winograd_configs.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_kernel.hpp>
#include <kinetograph/kernels/isa/kernel.hpp>

/// A row of winograd_configs.hpp as a kernel.
#define KG_SM90_WINOGRAD_ENTRY(name, config) KG_CUDA_KERNEL(name, WinogradParams, kWinogradThreads, 1) { WinogradKernel<config>::run(params); }
