#pragma once

#include <kinetograph/kernels/conv/plan.hpp>

namespace kinetograph::sm80 {

/// The fat binary that holds the convolutions of an element type: bf16 or fp16.
std::string_view image_of(Element element);

/// One launch; frames are read and written in place, and taps in the padding are null frames. A norm over more channels
/// than any tile holds is a separate pass that follows.
conv::ConvPlan plan_implicit_gemm(const conv::ConvProblem& problem, const conv::Chip& chip);

}  // namespace kinetograph::sm80
