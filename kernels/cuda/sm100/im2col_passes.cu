#include <kinetograph/kernels/cuda/sm100/im2col_passes.hpp>
#include <kinetograph/kernels/isa/kernel.hpp>

using namespace kinetograph;
using namespace kinetograph::sm100;

KG_CUDA_KERNEL(im2col_gather_16bit, GatherParams, kIm2colThreads) { gather_rows<uint16_t>(params); }
KG_CUDA_KERNEL(im2col_gather_8bit, GatherParams, kIm2colThreads) { gather_rows<uint8_t>(params); }

#define KG_SM100_BRING_HOME(name, value, function) \
    KG_CUDA_KERNEL(name, BringHomeParams<function>, kIm2colThreads) { bring_home<Element::value>(params); }
using SiluInRegisters = Silu<EpilogueForm::InRegisters>;
KG_SM100_BRING_HOME(im2col_home_bf16, BF16, NoEpilogue)
KG_SM100_BRING_HOME(im2col_home_bf16_silu, BF16, SiluInRegisters)
KG_SM100_BRING_HOME(im2col_home_fp16, F16, NoEpilogue)
KG_SM100_BRING_HOME(im2col_home_fp16_silu, F16, SiluInRegisters)
KG_SM100_BRING_HOME(im2col_home_fp32, F32, NoEpilogue)
