#include <kinetograph/kernels/cuda/sm100/slice_passes.hpp>

using namespace kinetograph::sm100;

extern "C" __global__ void __launch_bounds__(kPassThreads)
    qslice_accumulate(const __grid_constant__ AccumulateSliceParams params) {
    accumulate_slice(params);
}
extern "C" __global__ void __launch_bounds__(kPassThreads)
    qslice_finish(const __grid_constant__ FinishSlicesParams<NoEpilogue> params) {
    finish_slices(params);
}
extern "C" __global__ void __launch_bounds__(kPassThreads)
    qslice_finish_silu(const __grid_constant__ FinishSlicesParams<Silu<EpilogueForm::InRegisters>> params) {
    finish_slices(params);
}
