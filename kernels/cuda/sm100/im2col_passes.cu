#include <kinetograph/kernels/cuda/sm100/im2col_passes.hpp>

using namespace kinetograph;
using namespace kinetograph::sm100;

extern "C" __global__ void __launch_bounds__(kIm2colThreads)
    im2col_gather_16bit(const __grid_constant__ GatherParams params) {
    gather_rows<uint16_t>(params);
}
extern "C" __global__ void __launch_bounds__(kIm2colThreads)
    im2col_gather_8bit(const __grid_constant__ GatherParams params) {
    gather_rows<uint8_t>(params);
}
#define KG_SM100_BRING_HOME(name, value, function)                       \
    extern "C" __global__ void __launch_bounds__(kIm2colThreads)         \
        name(const __grid_constant__ BringHomeParams<function> params) { \
        bring_home<isa::Value::value>(params);                           \
    }
KG_SM100_BRING_HOME(im2col_home_bf16, BFloat16, NoEpilogue)
KG_SM100_BRING_HOME(im2col_home_bf16_silu, BFloat16, Silu<EpilogueForm::InRegisters>)
KG_SM100_BRING_HOME(im2col_home_fp16, Float16, NoEpilogue)
KG_SM100_BRING_HOME(im2col_home_fp32, Float32, NoEpilogue)
