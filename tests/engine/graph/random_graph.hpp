// Random frame graphs for property tests: the same seed declares the same graph.
#pragma once

#include <random>
#include <span>

#include "scene.hpp"

namespace kinetograph::graph {

/// How many of `all` random graphs a test takes: a tenth where a sanitizer makes every one ten times slower.
constexpr std::uint64_t random_graphs(std::uint64_t all) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return all / 10;
#else
    return all;
#endif
}

/// The source of a random graph's choices, usable by the distributions of <random>: bytes from a fuzzer, one byte a
/// choice, and after the last byte, or without bytes, a generator with the given seed.
class Choices {
  public:
    using result_type = std::uint64_t;
    Choices(std::uint64_t seed, std::span<const std::uint8_t> bytes = {}) : random_(seed), bytes_(bytes) {}
    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return ~result_type{0}; }
    result_type operator()() {
        if (bytes_.empty()) return random_();
        const std::uint64_t choice = bytes_.front();
        bytes_ = bytes_.subspan(1);
        return choice << 56U | std::uint64_t{1} << 55U;  // mid-range, so that no distribution rejects and redraws
    }

  private:
    std::mt19937_64 random_;
    std::span<const std::uint8_t> bytes_;
};

/// LaneTopology::all and Copies, which reaches the first accelerator's own memory and the host's.
inline LaneTopology every_lane(std::uint32_t accelerators) {
    LaneTopology topology = LaneTopology::all(accelerators);
    topology.let_reach(Lane::Copies, {MemoryDomain::Accelerator, MemoryDomain::Host});
    return topology;
}

/// The addresses of imports. A graph that is not executed has imports at invented addresses, and random lanes and
/// waits.
struct RandomGraphMemory {
    std::uintptr_t imports = 4096;  ///< kImportBytes for each import, one after the other
    bool executed = false;          ///< on the lanes of every_lane(kAccelerators)
    static constexpr std::uint64_t kImportBytes = 64 * kKiB;
    static constexpr std::uint32_t kAccelerators = 3;  ///< the most that a graph uses
};

struct RandomGraph {
    explicit RandomGraph(const Choices& choices, const RandomGraphMemory& memory = {});
    /// Declares the same graph again, as the next frame of an application would.
    void declare();

    FrameGraph frame;
    CompileOptions options;

  private:
    Choices choices_;
    RandomGraphMemory memory_;
};

}  // namespace kinetograph::graph
