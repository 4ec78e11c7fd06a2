// Whether a CPU method computes what it should on the processor at hand.
#pragma once

#include <kinetograph/compute/conv/dispatch.hpp>

#include <string>

namespace kinetograph::conv {

/// What is wrong with the sums of a CPU method for inputs of that element, F32, BF16 or U8; "" if a small problem, with
/// a residual and an activation after it, agrees with the fp64 loops, or if the method takes no such inputs.
std::string compare_with_reference(const Candidate& candidate, Element element);

/// The same of one of candidates() for all elements that it takes, computed on the first call for its name: a few
/// milliseconds.
const std::string& self_check(const Candidate& candidate);

}  // namespace kinetograph::conv
