#include <kinetograph/kernels/cuda/sm90/narrow_kernel.hpp>
#include <kinetograph/kernels/isa/kernel.hpp>

namespace kinetograph::sm90 {

KG_CUDA_KERNEL(sm90_narrow_bf16_3, NarrowConvParams, kThreads, 1) { NarrowConvKernel<Element::BF16, 3>::run(params); }
KG_CUDA_KERNEL(sm90_narrow_bf16_1, NarrowConvParams, kThreads, 1) { NarrowConvKernel<Element::BF16, 1>::run(params); }
KG_CUDA_KERNEL(sm90_narrow_f16_3, NarrowConvParams, kThreads, 1) { NarrowConvKernel<Element::F16, 3>::run(params); }
KG_CUDA_KERNEL(sm90_narrow_f16_1, NarrowConvParams, kThreads, 1) { NarrowConvKernel<Element::F16, 1>::run(params); }

}  // namespace kinetograph::sm90
