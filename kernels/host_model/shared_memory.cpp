#include <algorithm>
#include <cstring>
#include <kinetograph/kernels/host_model/machine.hpp>

namespace kinetograph::host_model {

uint32_t shared_offset(const void* pointer, uint64_t bytes, uint32_t alignment, const Instruction& at) {
    Lane& lane = Machine::lane();
    Cta& cta = *lane.cta;
    const auto* place = static_cast<const uint8_t*>(pointer);
    if (place < cta.memory || place + bytes > cta.memory + cta.bytes) {
        cta.machine.fail(
            lane.who(), at,
            "the pointer does not lie in this CTA's dynamic shared memory of " + std::to_string(cta.bytes) + " bytes");
    }
    const auto offset = static_cast<uint32_t>(place - cta.memory);
    if (offset % alignment != 0) {
        cta.machine.fail(
            lane.who(), at,
            "shared+" + std::to_string(offset) + " is not aligned to " + std::to_string(alignment) + " bytes");
    }
    return offset;
}

ClusterPlace cluster_place(Lane& lane, uint32_t address, uint32_t bytes, const Instruction& at) {
    Cta& cta = *lane.cta;
    const uint32_t rank = address >> kRankShift;
    const uint32_t offset = (address & ((1u << kRankShift) - 1)) - kSharedBase;
    if (rank >= cta.cluster.ctas.size() || offset + bytes > cta.bytes) {
        cta.machine.fail(lane.who(), at,
                         "shared::cluster address " + std::to_string(address) + " names no CTA of the cluster");
    }
    Cta& target = *cta.cluster.ctas[rank];
    if (target.exited) {
        cta.machine.fail(lane.who(), at,
                         "the CTA of rank " + std::to_string(rank) + ", whose shared memory this touches, has exited");
    }
    return {&target, offset};
}

void check_async_read(Cta& cta, uint32_t begin, uint32_t end, const Who& who, const Instruction& at) {
    for (uint32_t granule = begin / 16; granule < (end + 15) / 16; ++granule) {
        if (cta.layout[granule] == kNeverWritten) {
            cta.machine.fail(
                who, at,
                "reads shared+" + std::to_string(granule * 16) + ", which neither TMA nor store_shared has written");
        }
        if (cta.dirty_by[granule] != 0) {
            cta.machine.fail(who, at,
                             "reads shared+" + std::to_string(granule * 16) + ", which warp " +
                                 std::to_string((cta.dirty_by[granule] - 1) / 32) + " lane " +
                                 std::to_string((cta.dirty_by[granule] - 1) % 32) +
                                 " has written without a fence.proxy.async since");
        }
    }
}

void poison(Cta& cta, uint32_t begin, uint32_t end) { std::memset(cta.memory + begin, 0xff, end - begin); }

void mark_layout(Cta& cta, uint32_t begin, uint32_t end, uint8_t layout) {
    for (uint32_t granule = begin / 16; granule < (end + 15) / 16; ++granule) {
        cta.layout[granule] = layout;
        cta.dirty_by[granule] = 0;
    }
}

void* dynamic_shared(uint64_t bytes, const Instruction& at) {
    Lane& lane = Machine::lane();
    if (bytes > lane.cta->machine.launch().shared_bytes) {
        lane.cta->machine.fail(lane.who(), at,
                               "the kernel's shared memory is " + std::to_string(bytes) + " bytes, the launch gives " +
                                   std::to_string(lane.cta->machine.launch().shared_bytes));
    }
    return lane.cta->memory;
}

uint32_t shared_address(const void* pointer, const Instruction& at) {
    const uint32_t offset = shared_offset(pointer, 0, 1, at);
    return (Machine::lane().cta->rank << kRankShift) | (kSharedBase + offset);
}

void* shared_pointer(uint32_t address, uint32_t bytes, const Instruction& at) {
    Lane& lane = Machine::lane();
    const ClusterPlace place = cluster_place(lane, address, bytes, at);
    if (place.cta != lane.cta) lane.cta->machine.fail(lane.who(), at, "the address lies in another CTA's memory");
    return lane.cta->memory + place.offset;
}

void check_shared_load(const void* source, uint32_t bytes, const Instruction& at) {
    Lane& lane = Machine::lane();
    lane.cta->machine.step(32);
    const uint32_t offset = shared_offset(source, bytes, bytes, at);
    check_access({.cta = lane.cta, .begin = offset, .end = offset + bytes, .who = lane.who(), .at = at});
    lane.cta->order.read(lane, offset, offset + bytes, at);
}

void check_shared_store(const void* destination, uint32_t bytes, const Instruction& at) {
    Lane& lane = Machine::lane();
    Cta& cta = *lane.cta;
    cta.machine.step(32);
    const uint32_t offset = shared_offset(destination, bytes, bytes, at);
    check_access({.cta = &cta, .begin = offset, .end = offset + bytes, .writes = true, .who = lane.who(), .at = at});
    cta.order.write(lane, offset, offset + bytes, at);
    const auto barrier = cta.barriers.lower_bound(offset - std::min(offset, 7u));
    if (barrier != cta.barriers.end() && barrier->first < offset + bytes) {
        cta.machine.fail(lane.who(), at,
                         "overwrites the barrier at shared+" + std::to_string(barrier->first) + " (" +
                             describe(barrier->second.init_at) + ")");
    }
    const uint32_t granule = offset / 16;
    cta.layout[granule] = kPlain;
    cta.dirty_by[granule] = lane.thread + 1;
    lane.dirty.push_back(granule);
}

uint32_t map_to_rank(const void* pointer, uint32_t rank, const Instruction& at) {
    Lane& lane = Machine::lane();
    const uint32_t offset = shared_offset(pointer, 0, 1, at);
    if (rank >= lane.cta->cluster.ctas.size()) {
        lane.cta->machine.fail(lane.who(), at,
                               "rank " + std::to_string(rank) + " is not in the cluster of " +
                                   std::to_string(lane.cta->cluster.ctas.size()));
    }
    return (rank << kRankShift) | (kSharedBase + offset);
}

uint32_t cluster_load(uint32_t address, const Instruction& at) {
    Lane& lane = Machine::lane();
    lane.cta->machine.step();
    const auto [cta, offset] = cluster_place(lane, address, 4, at);
    check_access({.cta = cta, .begin = offset, .end = offset + 4, .who = lane.who(), .at = at});
    uint32_t value = 0;
    std::memcpy(&value, cta->memory + offset, sizeof(value));
    for (const RemoteStore& store : lane.remote_stores)  // a thread sees its own stores
        if (store.cta == cta && store.offset == offset) value = store.value;
    return value;
}

void publish_remote_stores(Lane& lane) {
    for (const auto& other : lane.cta->lanes) {
        if (other->warp() != lane.warp()) continue;
        std::erase_if(other->remote_stores, [&](const RemoteStore& store) {
            if (other.get() != &lane && store.time > lane.warp_sync) return false;
            std::memcpy(store.cta->memory + store.offset, &store.value, sizeof(store.value));
            return true;
        });
    }
}

void cluster_store(uint32_t address, uint32_t value, const Instruction& at) {
    Lane& lane = Machine::lane();
    lane.cta->machine.step();
    const auto [cta, offset] = cluster_place(lane, address, 4, at);
    check_access({.cta = cta, .begin = offset, .end = offset + 4, .writes = true, .who = lane.who(), .at = at});
    cta->layout[offset / 16] = kPlain;
    if (cta == lane.cta) {
        std::memcpy(cta->memory + offset, &value, sizeof(value));
    } else {
        lane.remote_stores.push_back({cta, offset, value, lane.cta->machine.time()});
    }
}

void fence_async_shared(const Instruction&) {
    Lane& lane = Machine::lane();
    lane.cta->machine.step();
    for (const uint32_t granule : lane.dirty) {
        if (lane.cta->dirty_by[granule] == lane.thread + 1) lane.cta->dirty_by[granule] = 0;
    }
    lane.dirty.clear();
    lane.answers_read.clear();
    for (MBarrier* barrier : lane.inits) barrier->fenced = true;
    lane.inits.clear();
}

void fence_barrier_init(const Instruction&) {
    Lane& lane = Machine::lane();
    lane.cta->machine.step();
    for (MBarrier* barrier : lane.inits) barrier->fenced = true;
    lane.inits.clear();
}

}  // namespace kinetograph::host_model
