#include <kinetograph/kernels/cuda/sm90/winograd_configs.hpp>
#include <kinetograph/kernels/cuda/sm90/winograd_kernel.hpp>
#include <kinetograph/kernels/isa/kernel.hpp>

namespace kinetograph::sm90 {

#define KG_SM90_KERNEL(name, element, ...)                                           \
    KG_CUDA_KERNEL(sm90_winograd_f16_##name, WinogradParams, kThreads, 1) {          \
        WinogradKernel<winograd_config(Element::element, __VA_ARGS__)>::run(params); \
    }
KG_SM90_WINOGRAD_TILES(KG_SM90_KERNEL, F16)

}  // namespace kinetograph::sm90
