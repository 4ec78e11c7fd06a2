#include <kinetograph/kernels/cuda/sm90/frame_walk_kernel.hpp>
#include <kinetograph/kernels/cuda/sm90/narrow_kernel.hpp>
#include <kinetograph/kernels/isa/kernel.hpp>

#define KG_SM90_NARROW_ENTRY(name, config) \
    KG_CUDA_KERNEL(name, NarrowConvParams, kThreads, 1) { NarrowConvKernel<config>::run(params); }
#define KG_SM90_FRAME_WALK_ENTRY(name, element) \
    KG_CUDA_KERNEL(name, FrameWalkParams, kThreads, 1) { FrameWalkKernel<element>::run(params); }

namespace kinetograph::sm90 {

KG_SM90_NARROW_INSTANCES(KG_SM90_NARROW_ENTRY)
KG_SM90_FRAME_WALKS(KG_SM90_FRAME_WALK_ENTRY)

}  // namespace kinetograph::sm90
