#pragma once

#include <kinetograph/kernels/conv/plan.hpp>

namespace kinetograph::sm90 {

/// narrow-gemm-sm90: NarrowConvKernel, one launch a run of frames.
conv::ConvPlan plan_narrow_gemm(const conv::ConvProblem& problem, const conv::Chip& chip);

/// One launch a run of frames. Arguments: NarrowConvParams, whose maps `encode` makes; `sms` CTAs share the tiles.
std::vector<conv::ConvLaunch> narrow_launches(const conv::ConvProblem& problem, const conv::ConvTensors& tensors,
                                              const conv::ParameterAddresses& parameters, uint32_t sms,
                                              const conv::EncodeMap& encode);

/// filter   [k][c_in][q][r][s] fp32, PyTorch's order
/// returns  [q][kNarrowColumns][c_in rounded up to 8] of problem.dtype; column (r * side + s) * k_count + k, the rest
///          zeros
std::vector<std::byte> pack_narrow_filter(const conv::ConvProblem& problem, std::span<const float> filter);

}  // namespace kinetograph::sm90
