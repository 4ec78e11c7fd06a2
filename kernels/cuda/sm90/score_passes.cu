#include <kinetograph/kernels/cuda/sm90/score_passes.hpp>
#include <kinetograph/kernels/isa/kernel.hpp>

namespace kinetograph::sm90 {

KG_CUDA_KERNEL(sm90_transpose_values, TransposeParams, kScoreThreads) { TransposeKernel::run(params); }
KG_CUDA_KERNEL(sm90_softmax_bf16, SoftmaxParams, kScoreThreads) { SoftmaxKernel::run(params); }

}  // namespace kinetograph::sm90
