#include <algorithm>
#include <cstring>
#include <kinetograph/kernels/host_model/machine.hpp>

/// The copies of one thread's group land together, at a random moment after the commit. Until then their destination
/// holds poison.
namespace kinetograph::host_model {

void cp_async_copy(uint32_t destination, const void* source, uint32_t bytes, uint32_t source_bytes,
                   const Instruction& at) {
    Lane& lane = Machine::lane();
    Cta& cta = *lane.cta;
    cta.machine.step(32);
    const ClusterPlace place = cluster_place(lane, destination, bytes, at);
    if (place.cta != &cta) cta.machine.fail(lane.who(), at, "the destination lies in another CTA's shared memory");
    if (place.offset % bytes != 0 || reinterpret_cast<uintptr_t>(source) % bytes != 0) {
        cta.machine.fail(lane.who(), at,
                         "source and destination of " + std::to_string(bytes) +
                             " bytes are not both aligned to as many: shared+" + std::to_string(place.offset));
    }
    if (source_bytes > bytes) {
        cta.machine.fail(
            lane.who(), at,
            "takes " + std::to_string(source_bytes) + " bytes from the source but copies " + std::to_string(bytes));
    }
    if (source == nullptr) cta.machine.fail(lane.who(), at, "the source is null");
    if (!lane.open_copies) lane.open_copies = std::make_shared<CopyGroup>();
    auto& copies = lane.open_copies->copies;
    copies.push_back(std::make_unique<PendingCopy>(PendingCopy{.begin = place.offset,
                                                               .end = place.offset + bytes,
                                                               .source = source,
                                                               .source_bytes = source_bytes,
                                                               .thread = lane.thread,
                                                               .at = at}));
    cta.order.begin_copy(lane, copies.back().get());
    poison(cta, place.offset, place.offset + bytes);
}

void cp_async_commit(const Instruction& at) {
    Lane& lane = Machine::lane();
    Cta& cta = *lane.cta;
    auto group = lane.open_copies ? std::move(lane.open_copies) : std::make_shared<CopyGroup>();
    lane.open_copies = nullptr;
    lane.copy_groups.push_back(group);
    if (group->copies.empty()) {
        group->landed = true;
        return;
    }
    cta.machine.begin(lane.who(), at, [&cta, group] {
        for (const auto& copy : group->copies) {
            uint8_t* to = cta.memory + copy->begin;
            std::memset(to, 0, copy->end - copy->begin);
            if (copy->source_bytes != 0) std::memcpy(to, copy->source, copy->source_bytes);
        }
        group->landed = true;
        cta.machine.wake(group->queue);
    });
}

void cp_async_wait(uint32_t pending, const Instruction& at) {
    Lane& lane = Machine::lane();
    Cta& cta = *lane.cta;
    cta.machine.step();
    while (lane.copy_groups.size() > pending) {
        const auto group = lane.copy_groups.front();
        while (!group->landed) {
            cta.machine.wait(group->queue, at, [] { return std::string("copies have not landed"); });
        }
        for (const auto& copy : group->copies) cta.order.finish_copy(lane, *copy);
        lane.copy_groups.pop_front();
    }
}

void check_copies_waited_for(const Lane& lane) {
    const auto unwaited = [&lane](const std::shared_ptr<CopyGroup>& group) {
        if (!group || group->copies.empty()) return;
        lane.cta->machine.fail(lane.who(), group->copies.front()->at,
                               "the thread ends without cp.async.wait_group for this copy");
    };
    unwaited(lane.open_copies);
    std::for_each(lane.copy_groups.begin(), lane.copy_groups.end(), unwaited);
}

}  // namespace kinetograph::host_model
