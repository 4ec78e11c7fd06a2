#include <kinetograph/kernels/cuda/sm80/conv_configs.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_kernel.hpp>
#include <kinetograph/kernels/isa/kernel.hpp>

using namespace kinetograph;

#define KG_ENTRY(name, ...)                                                                                 \
    KG_CUDA_KERNEL(sm80_conv_##name, sm80::ConvParams, sm80::threads(sm80::name), sm80::name.ctas_per_sm) { \
        sm80::ConvKernel<sm80::name>::run(params);                                                          \
    }
KG_SM80_CONV_CONFIGS_BF16(KG_ENTRY)
