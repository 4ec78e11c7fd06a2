#include <kinetograph/kernels/cuda/sm100/halo_configs.hpp>
#include <kinetograph/kernels/cuda/sm100/halo_kernel.hpp>
#include <kinetograph/kernels/isa/kernel.hpp>

namespace kinetograph::sm100 {

#define KG_SM100_HALO_KERNEL(name, element, ...)                             \
    KG_CUDA_KERNEL(sm100_halo_bf16_##name, HaloParams, kThreads, 1) {        \
        HaloKernel<halo_config(Element::element, __VA_ARGS__)>::run(params); \
    }
KG_SM100_HALO_TILES(KG_SM100_HALO_KERNEL, BF16)

}  // namespace kinetograph::sm100
