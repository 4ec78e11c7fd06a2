// Loops over whole frames before and after the library's primitives, on all threads.
#pragma once

#include <kinetograph/kernels/conv/problem.hpp>

#include <cstddef>
#include <cstdint>

namespace kinetograph::conv::onednn {

/// to[i] = the bf16 number from[i].
void widen_frame(const std::byte* from, float* to, std::int64_t elements);

void copy_frame(const float* from, float* to, std::int64_t elements);

/// The problem's epilogue after the bias: to[i] = relu(silu(sums[i]) + beta * residual[i]), rounded once. `sums` of one
/// output frame; `residual` and `to` of the output's type (F32 or BF16). A residual that is null, or whose beta is 0,
/// is not read. `to` may be the residual or, for F32, the sums.
void finish_frame(const ConvProblem& problem, const float* sums, const std::byte* residual, std::byte* to);

}  // namespace kinetograph::conv::onednn
