#pragma once

#include <kinetograph/kernels/conv/attention.hpp>
#include <kinetograph/kernels/cuda/sm90/cost.hpp>

/// products-sm90: attention of heads too wide for a CTA's registers, by two matrix products. The scores of a block of
/// queries are stored in fp32, a pass turns them into weights, and the implicit GEMM of 1x1 convolutions multiplies
/// both times: queries are pixels and keys filters, then weights are pixels and channels of the values filters.
namespace kinetograph::sm90 {

std::span<const conv::Gate<conv::AttentionSubject>> products_gates();

/// Kernels 0 to 3: transposition of the values, scores, softmax, sums of the values.
conv::OpPlan plan_products(const conv::AttentionProblem& problem, const conv::Chip& chip);

}  // namespace kinetograph::sm90
