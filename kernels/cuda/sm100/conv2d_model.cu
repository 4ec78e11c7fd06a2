#include "conv2d_kernel_entry.cuh"

/// For the host model only: for each form of activation, with and without residual and SiLU, and for the fp32 sums, the
/// entries that small problems of 32 or 96 channels are given, and some that are asked for by name.
namespace kinetograph::sm100 {
KG_SM100_TILE(KG_SM100_KERNEL, 2, 64, Frames2d, 64)
KG_SM100_TILE(KG_SM100_KERNEL, 2, 64, Volume3d, 64)
KG_SM100_TILE(KG_SM100_KERNEL, 2, 64, Window3d, 64)
KG_SM100_TILE(KG_SM100_KERNEL, 1, 64, Frames2d, 96)
KG_SM100_SILU(KG_SM100_KERNEL, 2, 64, Frames2d)
KG_SM100_SILU(KG_SM100_KERNEL, 2, 64, Volume3d)
KG_SM100_SILU(KG_SM100_KERNEL, 2, 64, Window3d)
KG_SM100_ELEMENT(KG_SM100_KERNEL, 1, 64, fp16, F16)
KG_SM100_ELEMENT(KG_SM100_KERNEL, 1, 64, e4m3, F8E4M3)
KG_SM100_BYTES(KG_SM100_KERNEL, 1, 64, Volume3d)
KG_SM100_BYTES(KG_SM100_KERNEL, 1, 64, Window3d)
KG_SM100_FUNCTION(KG_SM100_KERNEL, 1, 128, None)
KG_SM100_CLUSTER(KG_SM100_KERNEL, 2, 128, 192, Window3d, 2, 2)
KG_SM100_SUMS(KG_SM100_KERNEL, 1, 64)
KG_SM100_PRODUCT(KG_SM100_KERNEL, 1, 64, fp16, F16)
KG_SM100_PRODUCT(KG_SM100_KERNEL, 1, 64, e4m3, F8E4M3)
KG_SM100_PRODUCT(KG_SM100_KERNEL, 1, 128, e4m3, F8E4M3)
}  // namespace kinetograph::sm100
