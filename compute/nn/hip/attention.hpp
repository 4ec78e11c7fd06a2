// Attention on gfx950: one sweep over the keys, split until the device is busy.
#pragma once

#include <kinetograph/compute/conv/hip/kernels.hpp>
#include <kinetograph/compute/nn/attention.hpp>

namespace kinetograph::nn::hip {

/// Errors: InvalidArgument (sizes, dtype), Unsupported (a width that the kernels decline), those of Kernels::get.
Result<std::unique_ptr<Attention>> create_attention(std::shared_ptr<conv::Kernels> kernels, std::uint32_t compute_units,
                                                    const AttentionProblem& problem);

}  // namespace kinetograph::nn::hip
