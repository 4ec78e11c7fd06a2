#pragma once

#include <kinetograph/kernels/conv/plan.hpp>

namespace kinetograph::sm80 {

/// The fat binary that holds the convolutions of an element type: bf16 or fp16.
std::string_view image_of(Element element);

/// One launch; frames are read and written in place, and taps in the padding are null frames. A norm over more channels
/// than any tile holds is a separate pass that follows.
conv::ConvPlan plan_implicit_gemm(const conv::ConvProblem& problem, const conv::Chip& chip);
/// The kernels that can run it, cheapest first: "sm80_slab_bf16_16x96", "sm80_conv_bf16_128x96"; and the plan with one.
std::vector<std::string_view> implicit_gemm_kernels(const conv::ConvProblem& problem, const conv::Chip& chip);
conv::ConvPlan plan_implicit_gemm_with(const conv::ConvProblem& problem, const conv::Chip& chip,
                                       std::string_view kernel);

}  // namespace kinetograph::sm80
