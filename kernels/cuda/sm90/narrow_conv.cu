#include <kinetograph/kernels/cuda/sm90/narrow_kernel.hpp>
#include <kinetograph/kernels/isa/kernel.hpp>

#define KG_SM90_NARROW_ENTRY(name, config) \
    KG_CUDA_KERNEL(name, NarrowConvParams, kThreads, 1) { NarrowConvKernel<config>::run(params); }

namespace kinetograph::sm90 {

KG_SM90_NARROW_INSTANCES(KG_SM90_NARROW_ENTRY)

}  // namespace kinetograph::sm90
