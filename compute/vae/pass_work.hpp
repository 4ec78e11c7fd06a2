// What passes of a step compute, for profilers; the bytes are what they read and write.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/compute/nn/operators.hpp>
#include <kinetograph/engine/graph/frame_graph.hpp>

#include <vector>

namespace kinetograph::vae {

/// Of a pass that runs all these convolutions, of which there is at least one.
graph::PassWork work_of(const std::vector<const conv::Convolution*>& parts);
/// Each frame takes two products of every token with every other.
graph::PassWork work_of(const nn::Operator& attention, const conv::AttentionProblem& problem, std::int64_t frames);

}  // namespace kinetograph::vae
