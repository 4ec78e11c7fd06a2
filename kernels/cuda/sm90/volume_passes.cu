#include <kinetograph/kernels/cuda/sm90/volume_passes.hpp>
#include <kinetograph/kernels/isa/kernel.hpp>

namespace kinetograph::sm90 {

KG_CUDA_KERNEL(sm90_volume_input, VolumeInputParams, kVolumeThreads, 2) { VolumeInputKernel<>::run(params); }
KG_CUDA_KERNEL(sm90_volume_output, VolumeOutputParams, kVolumeThreads, 3) { VolumeOutputKernel<>::run(params); }

}  // namespace kinetograph::sm90
