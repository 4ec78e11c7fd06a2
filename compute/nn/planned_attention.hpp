// Attention on a GPU: the plan of its chip with the fewest predicted seconds.
#pragma once

#include <kinetograph/compute/conv/kernels.hpp>
#include <kinetograph/compute/nn/attention.hpp>

namespace kinetograph::nn {

/// Errors: InvalidArgument (sizes), Unsupported (no method of the chip takes the problem or has its kernels in this
/// build, with each one's reasons), those of Device::load.
Result<std::unique_ptr<Attention>> create_planned_attention(const conv::Kernels& kernels,
                                                            const AttentionProblem& problem);

}  // namespace kinetograph::nn
