// Random frame graphs for property tests: the same seed declares the same graph.
#pragma once

#include "scene.hpp"

namespace kinetograph::graph {

/// How many of `all` random graphs a test takes: a tenth where a sanitizer makes every one ten times as dear.
constexpr std::uint64_t random_graphs(std::uint64_t all) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return all / 10;
#else
    return all;
#endif
}

/// Where the memory of imports and histories comes from. Without an executor nothing can be executed: then imports have
/// made-up addresses, and lanes and waits are random too.
struct RandomGraphMemory {
    std::uintptr_t imports = 4096;  ///< kImportBytes for each import, one after the other
    Executor* executor = nullptr;   ///< makes the histories; its topology has all lanes
    static constexpr std::uint64_t kImportBytes = 64 * kKiB;
};

struct RandomGraph {
    explicit RandomGraph(std::uint64_t seed, const RandomGraphMemory& memory = {});
    /// Declares the same graph again, as the next frame of an application would.
    void declare();

    FrameGraph frame;
    CompileOptions options;
    std::vector<std::unique_ptr<HistoryStorage>> own_histories;
    std::vector<HistoryStorage*> histories;

  private:
    std::uint64_t seed_;
    RandomGraphMemory memory_;
};

}  // namespace kinetograph::graph
