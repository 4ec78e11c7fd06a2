// Loops over whole frames before and after the library's primitives, on all threads.
#pragma once

#include <kinetograph/compute/tensor/tensor.hpp>

namespace kinetograph::conv::onednn {

/// to[i] = the bf16 number from[i].
void widen_frame(const std::byte* from, float* to, std::int64_t elements);

/// to[i] = sums[i] + beta * residual[i], rounded once; residual and `to` are of `dtype` (F32 or BF16), residual may be
/// null, `to` may be the residual or, for F32, the sums.
void finish_frame(const float* sums, const std::byte* residual, float beta, std::byte* to, std::int64_t elements,
                  tensor::DType dtype);

/// Multiplies values below zero by `negative_slope`, in place.
void leaky_relu_frame(float* sums, float negative_slope, std::int64_t elements);

}  // namespace kinetograph::conv::onednn
