#include "conv2d_kernel_entry.cuh"

/// For the host model alone: of every form of activation, with and without residual and SiLU, and of the fp32 sums, the
/// entries that small problems of 32 or 96 channels are given.
namespace kinetograph::sm100 {
KG_SM100_TILE(KG_SM100_KERNEL, Frames2d, 2, 64, 64)
KG_SM100_TILE(KG_SM100_KERNEL, Volume3d, 2, 64, 64)
KG_SM100_TILE(KG_SM100_KERNEL, Window3d, 2, 64, 64)
KG_SM100_TILE(KG_SM100_KERNEL, Frames2d, 1, 64, 96)
KG_SM100_SILU(KG_SM100_KERNEL, Frames2d, 2, 64)
KG_SM100_SILU(KG_SM100_KERNEL, Volume3d, 2, 64)
KG_SM100_SILU(KG_SM100_KERNEL, Window3d, 2, 64)
KG_SM100_ELEMENT(KG_SM100_KERNEL, fp16, F16, 1, 64)
KG_SM100_ELEMENT(KG_SM100_KERNEL, e4m3, F8E4M3, 1, 64)
KG_SM100_SUMS(KG_SM100_KERNEL, 1, 64)
KG_SM100_PRODUCT(KG_SM100_KERNEL, fp16, F16, 1, 64)
KG_SM100_PRODUCT(KG_SM100_KERNEL, e4m3, F8E4M3, 1, 64)
KG_SM100_PRODUCT(KG_SM100_KERNEL, e4m3, F8E4M3, 1, 128)
}  // namespace kinetograph::sm100
