// A realistic large graph, for the cost of compiling and of reuse: four steps of a streaming decoder on the
// accelerator, whose frames are converted and composed on the Vulkan lanes and read back by the host. 1,000 passes.
#pragma once

#include <kinetograph/engine/graph/frame_graph.hpp>

namespace kinetograph::graph {

inline constexpr std::size_t kThousandPasses = 1000;

void declare_thousand_passes(FrameGraph& frame);

}  // namespace kinetograph::graph
