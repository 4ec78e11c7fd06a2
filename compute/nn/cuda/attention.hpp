// Attention on NVIDIA GPUs since sm_80 in tiles of keys: one CTA for every 64 queries; on sm_90, by wgmma, for 128.
#pragma once

#include <kinetograph/compute/conv/kernels.hpp>
#include <kinetograph/compute/nn/attention.hpp>

namespace kinetograph::nn::cuda {

/// Errors: InvalidArgument (sizes), Unsupported (a width or dtype that is not built, with those that are), those of
/// Kernels::get.
Result<std::unique_ptr<Attention>> create_attention(std::shared_ptr<conv::Kernels> kernels,
                                                    const AttentionProblem& problem);

}  // namespace kinetograph::nn::cuda
