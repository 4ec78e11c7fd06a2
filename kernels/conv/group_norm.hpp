#pragma once

#include <kinetograph/kernels/conv/group_norm_params.hpp>
#include <kinetograph/kernels/conv/operator.hpp>

namespace kinetograph::conv {

/// The plan of a group norm by a GPU's kernels "moments", "factors" and "norm", in this order. The first two take
/// `shared_bytes` of dynamic shared memory.
OpPlan plan_group_norm(const GroupNormProblem& problem, std::vector<KernelName> kernels,
                       std::uint32_t shared_bytes = 0);

}  // namespace kinetograph::conv
