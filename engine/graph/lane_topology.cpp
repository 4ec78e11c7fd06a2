#include <kinetograph/engine/graph/plan.hpp>

namespace kinetograph::graph {

namespace {

void let_reach(LaneTopology& topology, Lane lane, std::initializer_list<MemoryDomain> domains) {
    topology.present[static_cast<std::size_t>(lane)] = true;
    for (MemoryDomain domain : domains)
        topology.reaches[static_cast<std::size_t>(lane)][static_cast<std::size_t>(domain)] = true;
}

}  // namespace

LaneTopology LaneTopology::cpu_only() {
    constexpr Nanoseconds kWakeAThread{10'000};
    LaneTopology topology;
    let_reach(topology, Lane::Accelerator, {MemoryDomain::Accelerator, MemoryDomain::Host});
    let_reach(topology, Lane::Host, {MemoryDomain::Accelerator, MemoryDomain::Host});
    for (auto& waiting : topology.waits)
        for (Pair& pair : waiting) pair.hand_over = kWakeAThread;
    return topology;
}

LaneTopology LaneTopology::all() {
    LaneTopology topology;
    let_reach(topology, Lane::Graphics, {MemoryDomain::Graphics, MemoryDomain::Shared});
    let_reach(topology, Lane::AsyncCompute, {MemoryDomain::Graphics, MemoryDomain::Shared});
    let_reach(topology, Lane::Transfer, {MemoryDomain::Graphics, MemoryDomain::Shared});
    let_reach(topology, Lane::Accelerator, {MemoryDomain::Accelerator, MemoryDomain::Shared});
    let_reach(topology, Lane::Host, {MemoryDomain::Host, MemoryDomain::Shared});
    return topology;
}

}  // namespace kinetograph::graph
