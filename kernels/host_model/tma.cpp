#include <cstring>
#include <kinetograph/kernels/host_model/machine.hpp>
#include <kinetograph/kernels/host_model/tensor_box.hpp>

namespace kinetograph::host_model {
namespace {

constexpr uint64_t kMapStamp = 0x6b675f74656e736full;

/// A copy's box after the checks: everything that landing it needs.
struct Box {
    const isa::TensorMapDesc* desc;
    std::vector<int32_t> coordinates;
    std::vector<uint16_t> tap;
    uint32_t offset, bytes;

    BoxPlace place() const { return {coordinates.data(), tap.empty() ? nullptr : tap.data()}; }
};

const isa::TensorMapDesc& find_desc(const isa::TensorMap* map, const Instruction& at) {
    Lane& lane = Machine::lane();
    if (map->words[0] != kMapStamp) lane.cta->machine.fail(lane.who(), at, "the tensor map was not made by model_map");
    if (map->words[1] != 0)
        lane.cta->machine.fail(lane.who(), at, "the tensor map has the bit that drivers set by mistake");
    return *reinterpret_cast<const isa::TensorMapDesc*>(map->words[2]);
}

Box checked_box(const BoxCopy& copy, const Instruction& at) {
    Lane& lane = Machine::lane();
    Machine& machine = lane.cta->machine;
    const isa::TensorMapDesc& desc = find_desc(copy.map, at);
    if (const auto limit = isa::broken_limit(desc))
        machine.fail(lane.who(), at, "the tensor map is invalid: " + *limit);
    if (desc.rank != static_cast<uint32_t>(copy.rank)) {
        machine.fail(lane.who(), at,
                     "the instruction takes " + std::to_string(copy.rank) + " coordinates, the map has rank " +
                         std::to_string(desc.rank));
    }
    if ((desc.mode == isa::MapMode::Im2col) != (copy.tap != nullptr)) {
        machine.fail(lane.who(), at,
                     std::string("the map is ") +
                         (copy.tap != nullptr ? "tiled, the instruction im2col" : "im2col, the instruction tiled"));
    }
    if (desc.swizzle != isa::Swizzle::None && desc.stored_swizzle.value_or(isa::Swizzle::None) != isa::Swizzle::None)
        machine.fail(lane.who(), at, "the map swizzles bytes that are stored swizzled");
    if (desc.swizzle != isa::Swizzle::None && isa::box_row_bytes(desc) != isa::span_bytes(desc.swizzle)) {
        machine.fail(lane.who(), at,
                     "rows of " + std::to_string(isa::box_row_bytes(desc)) + " bytes under a swizzle of " +
                         std::to_string(isa::span_bytes(desc.swizzle)) + " bytes: no documented layout, not modelled");
    }
    Box box{.desc = &desc,
            .coordinates = {copy.coordinates, copy.coordinates + copy.rank},
            .tap = {},
            .offset = 0,
            .bytes = isa::box_bytes(desc)};
    if (copy.tap != nullptr) box.tap.assign(copy.tap, copy.tap + copy.rank - 2);
    if (const auto illegal = illegal_place(desc, box.place())) machine.fail(lane.who(), at, *illegal);
    box.offset = shared_offset(copy.shared, box.bytes, 128, at);
    return box;
}

/// Offset in the CTA's memory of the box's 16 bytes from byte `chunk` on; the XOR is taken from the absolute address.
uint32_t place_of(const Box& box, uint32_t chunk) {
    return isa::swizzled(box.desc->swizzle, kSharedBase + box.offset + chunk) - kSharedBase;
}

/// As Cta::layout says.
uint8_t layout_of(const isa::TensorMapDesc& desc) {
    const auto swizzle = desc.swizzle != isa::Swizzle::None ? desc.swizzle : desc.stored_swizzle;
    return swizzle ? static_cast<uint8_t>(kSwizzledBase + static_cast<uint8_t>(*swizzle)) : kPlain;
}

void land_load(const Box& box, const std::vector<Cta*>& targets, const std::vector<MBarrier*>& barriers,
               const std::vector<AccessPtr>& writes, const Who& who, const Instruction& at) {
    const std::vector<uint8_t> bytes = gather_box(*box.desc, box.place());
    for (size_t i = 0; i < targets.size(); ++i) {
        for (uint32_t chunk = 0; chunk < box.bytes; chunk += 16) {
            std::memcpy(targets[i]->memory + place_of(box, chunk), bytes.data() + chunk, 16);
        }
        writes[i]->landed = true;
        publish(*barriers[i], writes[i]);
        complete_bytes(*barriers[i], box.bytes, who, at);
    }
}

/// The CTA whose barrier a load signals: the destination's, or with cta_group::2 the CTA of the destination's pair
/// whose rank has the same parity as the named barrier's.
ClusterPlace barrier_place(Lane& lane, Cta& target, uint32_t barrier, const LoadForm& form, const Instruction& at) {
    const ClusterPlace named = cluster_place(lane, barrier, 8, at);
    if (form.multicast && form.pair) {
        const uint32_t signalled = (target.rank & ~1u) | (named.cta->rank & 1);
        return {target.cluster.ctas[signalled].get(), named.offset};
    }
    if (form.multicast) return {&target, named.offset};
    const bool reachable = form.pair ? (named.cta->rank | 1) == (lane.cta->rank | 1) : named.cta == lane.cta;
    if (!reachable) {
        lane.cta->machine.fail(lane.who(), at,
                               "the barrier is in the CTA of rank " + std::to_string(named.cta->rank) +
                                   (form.pair ? ", outside this CTA's pair" : ", not in the destination's"));
    }
    return named;
}

}  // namespace

isa::TensorMap model_map(const isa::TensorMapDesc& desc) {
    isa::TensorMap map{};
    map.words[0] = kMapStamp;
    map.words[2] = reinterpret_cast<uintptr_t>(&desc);
    return map;
}

void tma_prefetch(const isa::TensorMap* map, const Instruction& at) { find_desc(map, at); }

void tma_load(const BoxCopy& copy, uint32_t barrier, const LoadForm& form, const Instruction& at) {
    Lane& lane = Machine::lane();
    Machine& machine = lane.cta->machine;
    machine.step();
    Box box = checked_box(copy, at);
    std::vector<Cta*> targets;
    for (auto& cta : lane.cta->cluster.ctas) {
        if (form.multicast ? (form.ranks >> cta->rank & 1) != 0 : cta.get() == lane.cta) targets.push_back(cta.get());
    }
    if (form.multicast && (form.ranks >> lane.cta->cluster.ctas.size()) != 0) {
        machine.fail(lane.who(), at, "the multicast mask names ranks outside the cluster");
    }
    if (targets.empty()) machine.fail(lane.who(), at, "the multicast mask is empty");
    std::vector<MBarrier*> barriers;
    std::vector<AccessPtr> writes;
    for (Cta* target : targets) {
        if (target->exited) {
            machine.fail(lane.who(), at,
                         "writes into the CTA of rank " + std::to_string(target->rank) + ", which has exited");
        }
        const auto [owner, offset] = barrier_place(lane, *target, barrier, form, at);
        barriers.push_back(&signal_target(lane, *owner, offset, at));
        const auto overwritten = target->barriers.lower_bound(box.offset);
        if (overwritten != target->barriers.end() && overwritten->first < box.offset + box.bytes) {
            machine.fail(lane.who(), at, "writes over the barrier at shared+" + std::to_string(overwritten->first));
        }
        writes.push_back(track({.cta = target,
                                .begin = box.offset,
                                .end = box.offset + box.bytes,
                                .writes = true,
                                .who = lane.who(),
                                .at = at}));
        poison(*target, box.offset, box.offset + box.bytes);
        mark_layout(*target, box.offset, box.offset + box.bytes, layout_of(*box.desc));
    }
    machine.begin(
        lane.who(), at,
        [box = std::move(box), targets = std::move(targets), barriers = std::move(barriers), writes = std::move(writes),
         who = lane.who(), at] { land_load(box, targets, barriers, writes, who, at); });
}

void tma_store(const BoxCopy& copy, const Instruction& at) {
    Lane& lane = Machine::lane();
    Cta& cta = *lane.cta;
    Machine& machine = cta.machine;
    machine.step();
    const auto box = std::make_shared<const Box>(checked_box(copy, at));
    for (const int32_t coordinate : box->coordinates) {
        if (coordinate < 0) {
            machine.fail(lane.who(), at,
                         "a store that begins at coordinate " + std::to_string(coordinate) +
                             ", before the tensor: illegal instruction on an H200");
        }
    }
    check_async_read(cta, box->offset, box->offset + box->bytes, lane.who(), at);
    if (!lane.open_group) lane.open_group = std::make_shared<BulkGroup>();
    const auto group = lane.open_group;
    lane.last_store = at;
    const auto read =
        track({.cta = &cta, .begin = box->offset, .end = box->offset + box->bytes, .who = lane.who(), .at = at});
    group->reads.push_back(read);
    ++group->unread;
    ++group->unwritten;
    const auto staged = std::make_shared<std::vector<uint8_t>>(box->bytes);
    const uint64_t reading = machine.begin(lane.who(), at, [&cta, box, staged, read, group] {
        for (uint32_t chunk = 0; chunk < box->bytes; chunk += 16) {
            std::memcpy(staged->data() + chunk, cta.memory + place_of(*box, chunk), 16);
        }
        read->landed = true;
        --group->unread;
        cta.machine.wake(group->queue);
    });
    machine.begin(
        lane.who(), at,
        [&cta, box, staged, group] {
            scatter_box(*box->desc, box->place(), *staged);
            --group->unwritten;
            cta.machine.wake(group->queue);
        },
        reading);
}

void bulk_commit(const Instruction&) {
    Lane& lane = Machine::lane();
    lane.cta->machine.step();
    lane.groups.push_back(lane.open_group ? lane.open_group : std::make_shared<BulkGroup>());
    lane.open_group = nullptr;
}

void bulk_wait(uint32_t pending, bool read, const Instruction& at) {
    Lane& lane = Machine::lane();
    Machine& machine = lane.cta->machine;
    machine.step();
    for (size_t i = 0; i + pending < lane.groups.size(); ++i) {
        const auto group = lane.groups[i];
        while ((read ? group->unread : group->unwritten) != 0) {
            machine.wait(group->queue, at, [] { return std::string("bulk stores have not finished"); });
        }
        for (const auto& access : group->reads) settle(access);
    }
    while (!lane.groups.empty() && lane.groups.front()->unwritten == 0 && lane.groups.size() > pending)
        lane.groups.pop_front();
}

}  // namespace kinetograph::host_model
