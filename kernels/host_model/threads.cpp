#include <kinetograph/kernels/host_model/machine.hpp>
#include <numeric>

namespace kinetograph::host_model {

uint32_t thread_index() { return Machine::lane().thread; }
Dim3 block_index() { return Machine::lane().cta->block; }
Dim3 grid_size() { return Machine::lane().cta->machine.launch().grid; }
uint32_t cluster_rank() { return Machine::lane().cta->rank; }
uint32_t cluster_size() { return static_cast<uint32_t>(Machine::lane().cta->cluster.ctas.size()); }

void sync_warp(const Instruction& at) {
    Lane& lane = Machine::lane();
    Machine& machine = lane.cta->machine;
    machine.gather(lane.cta->warps[lane.warp()], lane.lane(), "warp", at, 0, nullptr, [](const auto&) {});
    lane.warp_sync = machine.time();
    ++lane.warp_epoch;
}

bool elect_one(const Instruction& at) {
    Lane& lane = Machine::lane();
    Machine& machine = lane.cta->machine;
    machine.gather(lane.cta->warps[lane.warp()], lane.lane(), "warp", at, 0, nullptr, [](const auto&) {});
    return lane.lane() == machine.elected();
}

uint32_t broadcast(uint32_t value, uint32_t source, const Instruction& at) {
    struct Exchange {
        uint32_t value, result;
    } mine{value, 0};
    Lane& lane = Machine::lane();
    Machine& machine = lane.cta->machine;
    if (source >= 32) machine.fail(lane.who(), at, "source lane " + std::to_string(source) + " is outside 0..31");
    machine.gather(lane.cta->warps[lane.warp()], lane.lane(), "warp", at, source, &mine, [source](const auto& slots) {
        const uint32_t shared = static_cast<const Exchange*>(slots[source])->value;
        for (void* slot : slots) static_cast<Exchange*>(slot)->result = shared;
    });
    return mine.result;
}

void set_registers(uint32_t count, bool raise, const Instruction& at) {
    constexpr uint32_t kRegisterFile = 65536;
    Lane& lane = Machine::lane();
    Cta& cta = *lane.cta;
    Machine& machine = cta.machine;
    const uint32_t warpgroup = lane.thread / 128;
    if (warpgroup >= cta.warpgroups.size()) {
        machine.fail(lane.who(), at, "the CTA has no complete warpgroup here; setmaxnreg takes 4 warps");
    }
    machine.gather(cta.warpgroups[warpgroup], lane.thread % 128, "warpgroup", at, count, nullptr, [&](const auto&) {
        const uint32_t now = cta.registers[warpgroup];
        if (raise ? count < now : count > now) {
            machine.fail(lane.who(), at,
                         std::string(raise ? "raises" : "lowers") + " registers from " + std::to_string(now) + " to " +
                             std::to_string(count));
        }
        if (!raise) {
            cta.registers[warpgroup] = count;
            machine.wake(cta.register_queue);
        }
    });
    const auto pool_after = [&cta, warpgroup, count] {
        const uint32_t others =
            std::accumulate(cta.registers.begin(), cta.registers.end(), 0u) - cta.registers[warpgroup];
        return (others + count) * 128;
    };
    while (raise && cta.registers[warpgroup] != count) {
        if (pool_after() <= kRegisterFile) {
            cta.registers[warpgroup] = count;
            break;
        }
        machine.wait(cta.register_queue, at, [pool_after] {
            return "would bring the CTA to " + std::to_string(pool_after()) + " of 65536 registers";
        });
    }
}

void named_barrier(uint32_t id, uint32_t threads, bool wait, const Instruction& at) {
    Lane& lane = Machine::lane();
    Cta& cta = *lane.cta;
    Machine& machine = cta.machine;
    machine.step();
    if (id == 0) threads = machine.launch().threads;
    if (id >= cta.named.size()) machine.fail(lane.who(), at, "barrier " + std::to_string(id) + " is outside 0..15");
    if (threads == 0 || threads % 32 != 0 || threads > machine.launch().threads) {
        machine.fail(lane.who(), at,
                     std::to_string(threads) + " threads: a multiple of 32 up to the CTA's " +
                         std::to_string(machine.launch().threads) + " is needed");
    }
    NamedBarrier& barrier = cta.named[id];
    if (barrier.arrived == 0) {
        barrier.expected = threads;
        barrier.first_at = at;
    } else if (barrier.expected != threads) {
        machine.fail(lane.who(), at,
                     "barrier " + std::to_string(id) + " takes " + std::to_string(threads) + " threads here and " +
                         std::to_string(barrier.expected) + " in " + describe(barrier.first_at));
    }
    if (++barrier.arrived == barrier.expected) {
        barrier.arrived = 0;
        ++barrier.generation;
        machine.wake(barrier.queue);
    } else if (wait) {
        const uint64_t generation = barrier.generation;
        while (barrier.generation == generation) {
            machine.wait(barrier.queue, at, [&barrier] {
                return std::to_string(barrier.expected - barrier.arrived) + " of " + std::to_string(barrier.expected) +
                       " threads have not come";
            });
        }
    }
    if (!wait || threads != machine.launch().threads) cta.partial_barriers = true;
    if (!wait) return;
    lane.cta_sync = machine.time();
    ++lane.cta_epoch;
}

void cluster_arrive(const Instruction& at) {
    Lane& lane = Machine::lane();
    Machine& machine = lane.cta->machine;
    machine.step();
    Cluster& cluster = lane.cta->cluster;
    publish_remote_stores(lane);
    if (lane.in_cluster_barrier) machine.fail(lane.who(), at, "arrives twice without barrier.cluster.wait in between");
    lane.in_cluster_barrier = true;
    lane.cluster_generation = cluster.generation;
    if (++cluster.arrived >= cluster.running) {
        cluster.arrived = 0;
        ++cluster.generation;
        machine.wake(cluster.queue);
    }
}

void cluster_wait(const Instruction& at) {
    Lane& lane = Machine::lane();
    Machine& machine = lane.cta->machine;
    Cluster& cluster = lane.cta->cluster;
    if (!lane.in_cluster_barrier) machine.fail(lane.who(), at, "waits without barrier.cluster.arrive");
    while (cluster.generation == lane.cluster_generation) {
        machine.wait(cluster.queue, at, [&cluster] {
            return std::to_string(cluster.running - cluster.arrived) + " of " + std::to_string(cluster.running) +
                   " threads of the cluster have not arrived";
        });
    }
    lane.in_cluster_barrier = false;
    lane.cta_sync = lane.cluster_sync = machine.time();
    ++lane.cta_epoch;
}

}  // namespace kinetograph::host_model
