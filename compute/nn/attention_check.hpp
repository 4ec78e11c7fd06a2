// Whether a GPU's attention computes what it should.
#pragma once

#include <kinetograph/compute/conv/kernels.hpp>
#include <kinetograph/kernels/conv/operator.hpp>

namespace kinetograph::nn {

/// Checks the kernels that `plan` gives the problem when they are first wanted on a CUDA or HIP device: the attention
/// of few tokens of as many channels, alone, against fp64. Outcomes and errors: as conv::self_check() of a convolution.
Result<void> check_attention(const conv::Kernels& kernels, std::string_view method,
                             const conv::AttentionProblem& problem,
                             conv::OpPlan (*plan)(const conv::AttentionProblem&, const conv::Chip&));

}  // namespace kinetograph::nn
