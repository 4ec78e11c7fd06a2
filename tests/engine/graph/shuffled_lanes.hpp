// Lanes that run what they are given in any order that their waits allow, and compute something that can be checked:
// every pass folds the contents of what it reads into one number, and fills what it writes with a number of its own.
#pragma once

#include <kinetograph/engine/graph/executor.hpp>

#include <deque>
#include <map>
#include <random>

#include "host_memory.hpp"

namespace kinetograph::graph {

/// What a pass has seen in one execution, folded into a number; by execution and pass name.
using Sightings = std::map<std::pair<std::uint64_t, std::string>, std::uint64_t>;

std::uint64_t fold(std::uint64_t a, std::uint64_t b);
std::uint64_t fold(std::string_view text);

class ShuffledLanes {
  public:
    explicit ShuffledLanes(std::uint64_t seed);
    ~ShuffledLanes();
    std::vector<LaneBackend*> lanes() const;

    /// Runs up to `batches` batches, each the oldest of a lane whose waits are satisfied.
    void run_some(std::size_t batches);
    /// True if everything submitted has run; false if the remaining batches deadlock.
    bool run_all();

    Sightings sightings;
    std::vector<std::string> torn;  ///< resources found with mixed contents
    std::size_t ran = 0;            ///< batches

  private:
    class QueuedLane;
    struct Job;
    bool run_one();
    void run(const Job& job);
    std::vector<std::unique_ptr<QueuedLane>> lanes_;
    std::mt19937_64 random_;
};

/// The same numbers, found by following versions instead of memory.
class Reference {
  public:
    /// Adds what the passes of `frame` that `plan` did not cull see in execution number `execution`.
    void execute(const FrameGraph& frame, const Plan& plan, std::uint64_t execution, Sightings& sightings);

  private:
    std::map<std::uintptr_t, std::uint64_t> imports_;  ///< contents by address
};

}  // namespace kinetograph::graph
