#include <kinetograph/kernels/cuda/sm100/conv2d_kernel_entry.cuh>
#include <kinetograph/samples/sm100_function/gelu_maxima.hpp>

namespace kinetograph::sm100 {
KG_SM100_KERNEL(gelu_maxima_conv2d, kGeluConfig, GeluMaxima)
}
