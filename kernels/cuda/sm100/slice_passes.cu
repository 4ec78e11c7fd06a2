#include <kinetograph/kernels/cuda/sm100/slice_passes.hpp>
#include <kinetograph/kernels/isa/kernel.hpp>

using namespace kinetograph::sm100;

using FinishParams = FinishSlicesParams<NoEpilogue>;
using FinishSiluParams = FinishSlicesParams<Silu<EpilogueForm::InRegisters>>;

KG_CUDA_KERNEL(qslice_accumulate, AccumulateSliceParams, kPassThreads) { accumulate_slice(params); }
KG_CUDA_KERNEL(qslice_finish, FinishParams, kPassThreads) { finish_slices(params); }
KG_CUDA_KERNEL(qslice_finish_silu, FinishSiluParams, kPassThreads) { finish_slices(params); }
