#include <kinetograph/kernels/cuda/sm90/conv_configs.hpp>
#include <kinetograph/kernels/cuda/sm90/conv_kernel.hpp>
#include <kinetograph/kernels/isa/kernel.hpp>

namespace kinetograph::sm90 {

#define KG_SM90_KERNEL(name, element, ...)                                               \
    KG_CUDA_KERNEL(sm90_conv_bf16_##name, ConvParams, kThreads, 1) {                     \
        ConvKernel<tile_config(Element::element, __VA_ARGS__)>::run(params);             \
    }
KG_SM90_TILES(KG_SM90_KERNEL, BF16)

}  // namespace kinetograph::sm90
