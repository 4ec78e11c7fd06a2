#include <kinetograph/engine/interop/frame_ring.hpp>

#include <algorithm>
#include <cassert>

namespace kinetograph::interop {
namespace {

std::uint32_t take_front(std::vector<std::uint32_t>& order) {
    const std::uint32_t slot = order.front();
    order.erase(order.begin());
    return slot;
}

}  // namespace

Result<std::unique_ptr<FrameRing>> FrameRing::create(Bridge& bridge, const FrameRingDesc& desc) {
    if (desc.width == 0 || desc.height == 0 || desc.slots == 0)
        return fail(ErrorCode::InvalidArgument, "a frame ring needs pixels and slots, not {} of {} x {}", desc.slots,
                    desc.width, desc.height);
    const bool images = desc.storage == FrameRingDesc::Storage::Image;
    if (images && bridge.display() == nullptr)
        return fail(ErrorCode::InvalidArgument, "a frame ring of images needs Vulkan, but the topology is {}",
                    bridge.choice().reason);
    std::unique_ptr<FrameRing> ring(new FrameRing(bridge, desc));
    const Lock lock(ring->mutex_);
    ring->slots_.resize(desc.slots);
    ring->free_.reserve(desc.slots);
    ring->waiting_.reserve(desc.slots);
    for (std::uint32_t i = 0; i < desc.slots; ++i) {
        const std::string name = fmt::format("frame slot {}", i);
        if (images) {
            KG_TRY(ring->slots_[i].image, bridge.display()->create_image(name, ring->image_desc()));
        } else if (desc.storage == FrameRingDesc::Storage::Host) {
            KG_TRY(ring->slots_[i].host, bridge.accelerator().allocate_pinned(name, ring->frame_bytes()));
        } else {
            KG_TRY(auto buffer, bridge.memory().create_buffer(name, ring->frame_bytes()));
            ring->slots_[i].buffer = std::move(buffer);
        }
        ring->free_.push_back(i);
    }
    return ring;
}

std::optional<FrameRing::Slot> FrameRing::acquire(Nanoseconds timeout) {
    Lock lock(mutex_);
    if (free_.empty()) {
        ++stalls_;
        if (!freed_.wait_for(lock, timeout, [&]() KG_REQUIRES(mutex_) { return !free_.empty(); })) return std::nullopt;
    }
    const std::uint32_t index = take_front(free_);
    Storage& storage = slots_[index];
    storage.state = State::Writing;
    // The reader may have left the image in any layout, and its contents are not needed.
    if (storage.image) bridge_.display()->discard(*storage.image);
    return Slot{
        index, generation_, storage.image.get(), storage.buffer.get(), storage.host.get(), std::move(storage.until)};
}

void FrameRing::abandon(const Slot& slot) {
    {
        const Lock lock(mutex_);
        free_slot(slot.index, slot.reusable);
    }
    freed_.notify_one();
}

graph::Image FrameRing::import_image(graph::FrameGraph& frame, const Slot& slot) const {
    return frame.import_image("frame", image_desc(), physical_of(slot), bridge_.import_point(slot.reusable));
}

graph::Buffer FrameRing::import_buffer(graph::FrameGraph& frame, const Slot& slot) const {
    return frame.import_buffer("frame", {.bytes = frame_bytes(), .domain = graph::MemoryDomain::Shared},
                               slot.buffer->physical(), bridge_.import_point(slot.reusable));
}

void FrameRing::declare_handover(graph::FrameGraph& frame, graph::Image written, graph::Lane lane) const {
    bridge_.display()->hand_over(
        frame, lane, written, lane == graph::Lane::Transfer ? graph::Access::TransferRead : graph::Access::SampledRead);
}

void FrameRing::publish(const Slot& slot, const FrameLabel& label, const TimelinePoint& ready) {
    bool handed_out = false;
    {
        const Lock lock(mutex_);
        Storage& storage = slots_[slot.index];
        assert(storage.state == State::Writing && "a slot is published once after it was acquired");
        handed_out = slot.generation == generation_;
        if (handed_out) {
            storage.state = State::Waiting;
            storage.until = ready;
            storage.label = label;
            if (storage.image) storage.layout = bridge_.display()->layout_of(*storage.image);
            waiting_.push_back(slot.index);
            ++published_count_;
        } else {
            free_slot(slot.index, ready);
        }
    }
    (handed_out ? published_ : freed_).notify_one();
}

FrameRecord FrameRing::record_of(std::uint32_t slot) const {
    const Storage& storage = slots_[slot];
    FrameRecord record;
    record.image = storage.image.get();
    record.layout = storage.layout;
    record.buffer = storage.buffer.get();
    if (storage.host) record.host = {storage.host->host_data(), frame_bytes()};
    record.row_bytes = row_bytes();
    record.width = desc_.width;
    record.height = desc_.height;
    record.format = desc_.format;
    record.color = desc_.color;
    record.ready = storage.until;
    record.label = storage.label;
    record.generation = generation_;
    record.slot = slot;
    record.serial = storage.serial;
    return record;
}

std::optional<FrameRecord> FrameRing::take(Nanoseconds timeout) {
    Lock lock(mutex_);
    if (!published_.wait_for(lock, timeout, [&]() KG_REQUIRES(mutex_) { return !waiting_.empty(); }))
        return std::nullopt;
    return take_next();
}

std::optional<FrameRecord> FrameRing::try_take_ready() {
    const Lock lock(mutex_);
    if (waiting_.empty() || !bridge_.has_reached(slots_[waiting_.front()].until)) return std::nullopt;
    return take_next();
}

std::optional<TimelinePoint> FrameRing::next_ready() const {
    const Lock lock(mutex_);
    if (waiting_.empty()) return std::nullopt;
    return slots_[waiting_.front()].until;
}

FrameRecord FrameRing::take_next() {
    const std::uint32_t index = take_front(waiting_);
    slots_[index].state = State::Held;
    slots_[index].serial = ++serials_;
    return record_of(index);
}

Result<void> FrameRing::release(const FrameRecord& record, const TimelinePoint& done) {
    {
        const Lock lock(mutex_);
        if (record.slot >= slots_.size() || slots_[record.slot].state != State::Held ||
            slots_[record.slot].serial != record.serial)
            return fail(ErrorCode::InvalidArgument,
                        "frame {} (slot {}, use {}) is not held: it was released before, or is of another ring",
                        record.label.index, record.slot, record.serial);
        free_slot(record.slot, done);
    }
    freed_.notify_one();
    return {};
}

void FrameRing::free_slot(std::uint32_t slot, const TimelinePoint& until) {
    slots_[slot].state = State::Free;
    slots_[slot].until = until;
    free_.push_back(slot);
}

std::vector<TimelinePoint> FrameRing::reusable() const {
    std::vector<TimelinePoint> points;
    const Lock lock(mutex_);
    for (const Storage& storage : slots_)
        if (storage.state == State::Free) points.push_back(storage.until);
    return points;
}

std::uint64_t FrameRing::restart() {
    std::uint64_t generation = 0;
    {
        const Lock lock(mutex_);
        generation = ++generation_;
        for (const std::uint32_t slot : waiting_) free_slot(slot, slots_[slot].until);
        waiting_.clear();
    }
    freed_.notify_all();
    return generation;
}

FrameRingStats FrameRing::stats() const {
    const Lock lock(mutex_);
    FrameRingStats stats;
    stats.free = static_cast<std::uint32_t>(free_.size());
    stats.waiting = static_cast<std::uint32_t>(waiting_.size());
    stats.held = static_cast<std::uint32_t>(std::count_if(
        slots_.begin(), slots_.end(), [](const Storage& storage) { return storage.state == State::Held; }));
    stats.published = published_count_;
    stats.stalls = stalls_;
    return stats;
}

}  // namespace kinetograph::interop
