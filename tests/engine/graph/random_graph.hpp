// Random frame graphs for property tests: the same seed declares the same graph.
#pragma once

#include <kinetograph/engine/graph/executor.hpp>

#include <random>

namespace kinetograph::graph {

struct RandomGraph {
    explicit RandomGraph(std::uint64_t seed, std::uintptr_t storage_address = 4096);

    FrameGraph frame;
    CompileOptions options;
    std::vector<std::unique_ptr<HistoryStorage>> histories;
};

}  // namespace kinetograph::graph
