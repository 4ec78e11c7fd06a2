#include <kinetograph/kernels/cuda/sm80/conv_configs.hpp>
#include <kinetograph/kernels/cuda/sm80/conv_kernel.hpp>

using namespace kinetograph;

#define KG_ENTRY(name, ...)                                                                         \
    extern "C" __global__ void __launch_bounds__(sm80::threads(sm80::name), sm80::name.ctas_per_sm) \
        sm80_conv_##name(const __grid_constant__ sm80::ConvParams params) {                         \
        sm80::ConvKernel<sm80::name>::run(params);                                                  \
    }
KG_SM80_CONV_CONFIGS_BF16(KG_ENTRY)
