#pragma once

#include <kinetograph/kernels/conv/operator.hpp>

/// The operators of this folder as plans, for every GPU since sm_80. Pure host code.
namespace kinetograph::sm80 {

/// mma-sm80 (attention), and one for each other operator: norm-sm80 and so on.
std::span<const conv::OpMethod> operators();

inline bool runs_since_sm80(const conv::Chip& chip) { return chip.cuda_architecture() >= 80; }
/// mma-sm80.
conv::OpMethodOf<conv::AttentionProblem> attention_method();

}  // namespace kinetograph::sm80
