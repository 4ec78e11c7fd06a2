#include "conv2d_kernel_entry.cuh"

namespace kinetograph::sm100 {
KG_SM100_MIXES(KG_SM100_KERNEL)
}
