#include <algorithm>
#include <cstring>
#include <kinetograph/kernels/host_model/machine.hpp>

namespace kinetograph::host_model {
namespace {

constexpr uint32_t kAnswerBytes = 16;

/// The 16 bytes as the model writes them; kernels read them only through query_cancel.
struct Answer {
    uint32_t stamp, x, y, z;
};
constexpr uint32_t kGranted = 0x636c6301u, kExhausted = 0x636c6300u;

/// A thread that has read a slot must execute a proxy fence before the slot is written again.
void check_readers_fenced(Lane& lane, const Cta& cta, uint32_t offset, const Instruction& at) {
    for (const auto& reader : cta.lanes) {
        for (const auto& [slot, read_at] : reader->answers_read) {
            if (slot != offset) continue;
            cta.machine.fail(lane.who(), at,
                             "overwrites the answer that " + describe(reader->who()) + " read in " + describe(read_at) +
                                 " without fence.proxy.async since");
        }
    }
}

}  // namespace

void try_cancel(void* response, void* barrier, bool multicast, const Instruction& at) {
    Lane& lane = Machine::lane();
    Cluster& cluster = lane.cta->cluster;
    Machine& machine = lane.cta->machine;
    machine.step();
    const uint32_t offset = shared_offset(response, kAnswerBytes, kAnswerBytes, at);
    const uint32_t barrier_offset = shared_offset(barrier, 8, 8, at);
    if (cluster.cancel_failed) {
        machine.fail(lane.who(), at,
                     "asks again after " + describe(cluster.failed_at) + " has seen that the grid is exhausted");
    }
    struct Target {
        Cta* cta;
        MBarrier* barrier;
        AccessPtr write;
    };
    std::vector<Target> targets;
    for (auto& cta : cluster.ctas) {
        if (!multicast && cta.get() != lane.cta) continue;
        if (cta->exited) machine.fail(lane.who(), at, "the CTA of rank " + std::to_string(cta->rank) + " has exited");
        check_readers_fenced(lane, *cta, offset, at);
        MBarrier& signalled = signal_target(lane, *cta, barrier_offset, at);
        const auto write = track({.cta = cta.get(),
                                  .begin = offset,
                                  .end = offset + kAnswerBytes,
                                  .writes = true,
                                  .who = lane.who(),
                                  .at = at});
        poison(*cta, offset, offset + kAnswerBytes);
        targets.push_back({cta.get(), &signalled, write});
    }
    machine.begin(lane.who(), at, [targets = std::move(targets), offset, who = lane.who(), at, &machine] {
        const auto next = machine.take_cluster();
        const Answer answer = next ? Answer{kGranted, next->x, next->y, next->z} : Answer{kExhausted, ~0u, ~0u, ~0u};
        for (const Target& target : targets) {
            std::memcpy(target.cta->memory + offset, &answer, sizeof(answer));
            target.write->landed = true;
            publish(*target.barrier, target.write);
            complete_bytes(*target.barrier, kAnswerBytes, who, at);
        }
    });
}

CancelAnswer query_cancel(const void* response, const Instruction& at) {
    Lane& lane = Machine::lane();
    Cta& cta = *lane.cta;
    cta.machine.step();
    const uint32_t offset = shared_offset(response, kAnswerBytes, kAnswerBytes, at);
    check_access({.cta = &cta, .begin = offset, .end = offset + kAnswerBytes, .who = lane.who(), .at = at});
    Answer answer{};
    std::memcpy(&answer, cta.memory + offset, sizeof(answer));
    if (answer.stamp != kGranted && answer.stamp != kExhausted) {
        cta.machine.fail(lane.who(), at, "shared+" + std::to_string(offset) + " holds no answer of try_cancel");
    }
    lane.answers_read.emplace_back(offset, at);
    if (answer.stamp == kExhausted && !cta.cluster.cancel_failed) {
        cta.cluster.cancel_failed = true;
        cta.cluster.failed_at = at;
    }
    return {answer.stamp == kGranted, {answer.x, answer.y, answer.z}};
}

}  // namespace kinetograph::host_model
