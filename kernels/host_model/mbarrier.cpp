#include <algorithm>
#include <cstring>
#include <kinetograph/kernels/host_model/machine.hpp>

namespace kinetograph::host_model {
namespace {

constexpr uint32_t kCountLimit = 1u << 20;

/// What a barrier's 8 bytes hold on the host, so that overwriting a live barrier is detected.
uint64_t stamp(uint32_t offset) { return 0x6b675f6d62617272ull ^ (static_cast<uint64_t>(offset) << 32); }

void finish_if_complete(MBarrier& barrier, const Who& who, const Instruction& at) {
    if (barrier.pending != 0) return;
    Machine& machine = barrier.cta->machine;
    if (barrier.bytes < 0) {
        machine.fail(who, at, "more bytes arrive than are expected: " + describe_wait(barrier, barrier.phase));
    }
    if (barrier.bytes > 0) return;
    if (barrier.observed < barrier.phase - 1) {
        machine.fail(who, at,
                     "completes phase " + std::to_string(barrier.phase) + " although no thread has waited for phase " +
                         std::to_string(barrier.phase - 1) + " of the barrier at " +
                         describe_place(*barrier.cta, barrier.offset) + " (" + describe(barrier.init_at) +
                         "): more arrivals come than its count of " + std::to_string(barrier.count));
    }
    if (!barrier.queue.lanes.empty()) barrier.observed = barrier.phase;
    ++barrier.phase;
    barrier.pending = barrier.count;
    barrier.expected_bytes = 0;
    machine.wake(barrier.queue);
}

/// Threads other than the initialising one must have synchronised with it after the init.
void check_init_seen(const Lane& lane, const MBarrier& barrier, bool remote, const Instruction& at) {
    if (lane.thread == barrier.init_who.thread && !remote) return;
    const bool same_warp = !remote && lane.warp() == barrier.init_who.thread / 32;
    const uint64_t seen = std::max({lane.cluster_sync, remote ? 0 : lane.cta_sync, same_warp ? lane.warp_sync : 0});
    if (seen < barrier.init_time || (remote && !barrier.fenced)) {
        barrier.cta->machine.fail(lane.who(), at,
                                  "uses the barrier at " + describe_place(*barrier.cta, barrier.offset) +
                                      " without having synchronised after its " + describe(barrier.init_at) +
                                      (remote ? " (fence_barrier_init and a cluster barrier)" : ""));
    }
}

MBarrier& own_barrier(void* pointer, const Instruction& at) {
    Lane& lane = Machine::lane();
    const uint32_t offset = shared_offset(pointer, 8, 8, at);
    MBarrier& barrier = find_barrier(*lane.cta, offset, lane.who(), at);
    check_init_seen(lane, barrier, false, at);
    return barrier;
}

void expect_bytes(MBarrier& barrier, uint32_t bytes, const Who& who, const Instruction& at) {
    barrier.bytes += bytes;
    barrier.expected_bytes += bytes;
    if (barrier.bytes >= static_cast<int64_t>(kCountLimit)) {
        barrier.cta->machine.fail(
            who, at, "expects " + std::to_string(barrier.bytes) + " bytes in one phase; the limit is 2^20-1");
    }
}

/// Before a thread passes tensor memory on, it must have waited for its own loads.
void check_loads_waited(const Lane& lane, const Instruction& at) {
    if (lane.tensor_loads.empty()) return;
    lane.cta->machine.fail(
        lane.who(), at,
        "arrives while " + describe(lane.tensor_loads.front().at) + " has not been waited for (tcgen05.wait::ld)");
}

void observe(Lane& lane, MBarrier& barrier, int64_t phase) {
    lane.observed[&barrier] = phase;
    lane.cta_sync = lane.cluster_sync = lane.cta->machine.time();
    if (phase < 0) return;
    barrier.observed = std::max(barrier.observed, phase);
    std::erase_if(barrier.publishes, [phase](const auto& entry) {
        if (entry.first > phase) return false;
        settle(entry.second);
        return true;
    });
}

}  // namespace

MBarrier& find_barrier(Cta& cta, uint32_t offset, const Who& who, const Instruction& at) {
    const auto found = cta.barriers.find(offset);
    if (found == cta.barriers.end()) {
        cta.machine.fail(who, at, "there is no initialised barrier at " + describe_place(cta, offset));
    }
    uint64_t bits = 0;
    std::memcpy(&bits, cta.memory + offset, sizeof(bits));
    if (bits != stamp(offset)) {
        cta.machine.fail(who, at,
                         "the bytes of the barrier at " + describe_place(cta, offset) + " (" +
                             describe(found->second.init_at) + ") have been overwritten");
    }
    return found->second;
}

MBarrier& signal_target(Lane& lane, Cta& cta, uint32_t offset, const Instruction& at) {
    MBarrier& barrier = find_barrier(cta, offset, lane.who(), at);
    const bool remote = &cta != lane.cta;
    check_init_seen(lane, barrier, remote, at);
    if (!barrier.fenced) {
        cta.machine.fail(lane.who(), at,
                         "signals the barrier at " + describe_place(cta, offset) + ", whose " +
                             describe(barrier.init_at) +
                             " was not followed by fence_barrier_init: the async proxy may not see it");
    }
    return barrier;
}

void arrive_at(MBarrier& barrier, const Who& who, const Instruction& at) {
    if (barrier.cta->exited) {
        barrier.cta->machine.fail(who, at,
                                  "arrives at the barrier at " + describe_place(*barrier.cta, barrier.offset) + " (" +
                                      describe(barrier.init_at) + ") of a CTA that has exited");
    }
    if (barrier.pending == 0) {
        barrier.cta->machine.fail(
            who, at, "arrives once too often while bytes are outstanding: " + describe_wait(barrier, barrier.phase));
    }
    --barrier.pending;
    finish_if_complete(barrier, who, at);
}

void complete_bytes(MBarrier& barrier, uint32_t bytes, const Who& who, const Instruction& at) {
    barrier.bytes -= bytes;
    finish_if_complete(barrier, who, at);
}

void publish(MBarrier& barrier, const AccessPtr& access) { barrier.publishes.emplace_back(barrier.phase, access); }

void mbarrier_init(void* pointer, uint32_t count, const Instruction& at) {
    Lane& lane = Machine::lane();
    Cta& cta = *lane.cta;
    cta.machine.step();
    const uint32_t offset = shared_offset(pointer, 8, 8, at);
    if (count == 0 || count >= kCountLimit) {
        cta.machine.fail(lane.who(), at, "count " + std::to_string(count) + " is outside 1..2^20-1");
    }
    check_access({.cta = &cta, .begin = offset, .end = offset + 8, .writes = true, .who = lane.who(), .at = at});
    if (cta.barriers.contains(offset)) {
        cta.machine.fail(lane.who(), at,
                         "the barrier at " + describe_place(cta, offset) + " is already initialised (" +
                             describe(cta.barriers[offset].init_at) + "); mbarrier.inval ends its life");
    }
    MBarrier& barrier = cta.barriers[offset];
    barrier.cta = &cta;
    barrier.offset = offset;
    barrier.count = barrier.pending = count;
    barrier.init_who = lane.who();
    barrier.init_at = at;
    barrier.init_time = cta.machine.time();
    lane.inits.push_back(&barrier);
    const uint64_t bits = stamp(offset);
    std::memcpy(cta.memory + offset, &bits, sizeof(bits));
}

void mbarrier_invalidate(void* pointer, const Instruction& at) {
    Lane& lane = Machine::lane();
    Cta& cta = *lane.cta;
    cta.machine.step();
    MBarrier& barrier = own_barrier(pointer, at);
    if (!barrier.queue.lanes.empty() || barrier.pending != barrier.count || barrier.bytes != 0) {
        cta.machine.fail(lane.who(), at, "ends a barrier in use: " + describe_wait(barrier, barrier.phase));
    }
    for (auto& member : cta.cluster.ctas) {
        for (auto& other : member->lanes) {
            other->observed.erase(&barrier);
            std::erase(other->inits, &barrier);
        }
    }
    cta.barriers.erase(barrier.offset);
}

void mbarrier_arrive(void* pointer, uint32_t expected_bytes, const Instruction& at) {
    Lane& lane = Machine::lane();
    lane.cta->machine.step();
    check_loads_waited(lane, at);
    MBarrier& barrier = own_barrier(pointer, at);
    expect_bytes(barrier, expected_bytes, lane.who(), at);
    arrive_at(barrier, lane.who(), at);
}

void mbarrier_arrive_remote(uint32_t address, uint32_t expected_bytes, const Instruction& at) {
    Lane& lane = Machine::lane();
    lane.cta->machine.step();
    check_loads_waited(lane, at);
    const auto [cta, offset] = cluster_place(lane, address, 8, at);
    MBarrier& barrier = find_barrier(*cta, offset, lane.who(), at);
    check_init_seen(lane, barrier, cta != lane.cta, at);
    expect_bytes(barrier, expected_bytes, lane.who(), at);
    arrive_at(barrier, lane.who(), at);
}

void mbarrier_arrive_release(uint32_t address, const Instruction& at) {
    publish_remote_stores(Machine::lane());
    mbarrier_arrive_remote(address, 0, at);
}

void mbarrier_expect(void* pointer, uint32_t bytes, const Instruction& at) {
    Lane& lane = Machine::lane();
    lane.cta->machine.step();
    expect_bytes(own_barrier(pointer, at), bytes, lane.who(), at);
}

void mbarrier_wait(void* pointer, uint32_t parity, const Instruction& at) {
    Lane& lane = Machine::lane();
    Machine& machine = lane.cta->machine;
    machine.step();
    MBarrier& barrier = own_barrier(pointer, at);
    if (parity > 1) machine.fail(lane.who(), at, "parity " + std::to_string(parity) + " is neither 0 nor 1");
    const int64_t phase = (barrier.phase & 1) == parity ? barrier.phase : barrier.phase - 1;
    const auto before = lane.observed.find(&barrier);
    if (before != lane.observed.end() && phase <= before->second) {
        machine.fail(lane.who(), at,
                     "waits a second time for phase " + std::to_string(phase) + " (parity " + std::to_string(parity) +
                         ") of the barrier at " + describe_place(*barrier.cta, barrier.offset) + " (" +
                         describe(barrier.init_at) + "): the phase bit was not flipped");
    }
    while (barrier.phase <= phase) {
        machine.wait(barrier.queue, at, [&barrier, phase] { return describe_wait(barrier, phase); });
    }
    observe(lane, barrier, phase);
}

bool mbarrier_test(void* pointer, uint32_t parity, const Instruction& at) {
    Lane& lane = Machine::lane();
    lane.cta->machine.step();
    const MBarrier& barrier = own_barrier(pointer, at);
    if (parity > 1) {
        lane.cta->machine.fail(lane.who(), at, "parity " + std::to_string(parity) + " is neither 0 nor 1");
    }
    return (barrier.phase & 1) != parity;
}

void mbarrier_promise(const void* pointer, uint32_t parity, const Instruction& promise) {
    Lane& lane = Machine::lane();
    const uint32_t offset = shared_offset(pointer, 8, 8, promise);
    const MBarrier& barrier = find_barrier(*lane.cta, offset, lane.who(), promise);
    if ((barrier.phase & 1) != parity) return;
    lane.cta->machine.fail(lane.who(), promise, "this was promised but " + describe_wait(barrier, barrier.phase));
}

}  // namespace kinetograph::host_model
