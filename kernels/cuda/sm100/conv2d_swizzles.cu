#include "conv2d_kernel_entry.cuh"

namespace kinetograph::sm100 {
KG_SM100_SWIZZLES(KG_SM100_KERNEL)
}
