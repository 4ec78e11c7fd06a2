#include <kinetograph/engine/graph/plan.hpp>

namespace kinetograph::graph {

void LaneTopology::let_reach(Lane lane, std::initializer_list<MemoryDomain> domains) {
    present[lane.index()] = true;
    for (MemoryDomain domain : domains) reaches[lane.index()][domain.index()] = true;
}

LaneTopology LaneTopology::without_vulkan(std::uint32_t accelerators) {
    constexpr Nanoseconds kWakeAThread{10'000};
    LaneTopology topology;
    topology.accelerators = accelerators;
    for (Lane lane : {Lane::Host, Lane::Copies}) topology.let_reach(lane, {MemoryDomain::Host});
    for (std::uint32_t a = 0; a < accelerators; ++a) {
        for (Lane lane : {Lane::Host, Lane::Copies}) topology.let_reach(lane, {MemoryDomain::accelerator(a)});
        topology.let_reach(Lane::accelerator(a), {MemoryDomain::Host});
        for (std::uint32_t b = 0; b < accelerators; ++b)
            topology.let_reach(Lane::accelerator(a), {MemoryDomain::accelerator(b)});
    }
    for (auto& waiting : topology.waits)
        for (Pair& pair : waiting) pair.hand_over = kWakeAThread;
    return topology;
}

LaneTopology LaneTopology::all(std::uint32_t accelerators) {
    LaneTopology topology;
    topology.accelerators = accelerators;
    for (Lane lane : {Lane::Graphics, Lane::AsyncCompute, Lane::Transfer})
        topology.let_reach(lane, {MemoryDomain::Graphics});
    topology.let_reach(Lane::Host, {MemoryDomain::Host});
    for (std::uint32_t a = 0; a < accelerators; ++a) {
        topology.let_reach(Lane::accelerator(a), {MemoryDomain::accelerator(a), MemoryDomain::shared(a)});
        if (accelerators > 1) topology.let_reach(Lane::accelerator(a), {MemoryDomain::Host});
        for (Lane lane : {Lane::Graphics, Lane::AsyncCompute, Lane::Transfer, Lane::Host})
            topology.let_reach(lane, {MemoryDomain::shared(a)});
    }
    return topology;
}

}  // namespace kinetograph::graph
