#include <kinetograph/engine/accel/accelerator_lane.hpp>

#include <iterator>

namespace kinetograph::accel {

Result<std::unique_ptr<AcceleratorLane>> AcceleratorLane::create(Device& device, profile::Recorder* recorder) {
    auto stream = device.create_stream("accelerator");
    if (!stream) return fail(std::move(stream.error()));
    auto timeline = device.create_timeline();
    if (!timeline) return fail(std::move(timeline.error()));
    return std::unique_ptr<AcceleratorLane>(
        new AcceleratorLane(device, std::move(*stream), std::move(*timeline), recorder));
}

AcceleratorLane::AcceleratorLane(Device& device, std::unique_ptr<Stream> stream, std::shared_ptr<Timeline> timeline,
                                 profile::Recorder* recorder)
    : device_(device), timeline_(std::move(timeline)), recorder_(recorder), stream_(std::move(stream)) {}

AcceleratorLane::~AcceleratorLane() {
    static_cast<void>(stream_->synchronize());  // an error nobody asked for has nobody to be told
    collect_spans();
}

Result<std::shared_ptr<Event>> AcceleratorLane::take_event() {
    if (free_events_.empty()) return device_.create_event();
    auto event = std::move(free_events_.back());
    free_events_.pop_back();
    return event;
}

Result<void> AcceleratorLane::submit(const graph::BatchRecord& record) {
    collect_spans();
    std::lock_guard lock(mutex_);
    std::vector<Timed> timed;  // made before anything is enqueued: an error leaves nothing of the batch behind
    for (const graph::PassRecord& pass : record.passes) {
        if (recorder_ == nullptr) break;
        auto begin = take_event();
        auto end = take_event();
        if (!begin) return fail(std::move(begin.error()), pass.planned->name);
        if (!end) return fail(std::move(end.error()), pass.planned->name);
        timed.push_back({pass.planned->name, record.execution, std::move(*begin), std::move(*end)});
    }
    for (const graph::ResolvedWait& wait : record.waits) {
        if (auto* accelerator = dynamic_cast<AcceleratorLane*>(wait.lane)) {
            stream_->wait(accelerator->timeline_, wait.value);
        } else {
            // Another kind of lane offers no timeline that this device understands: its own wait runs in stream order.
            stream_->enqueue("wait", [lane = wait.lane, value = wait.value] { return lane->wait(value); });
        }
    }
    for (std::size_t i = 0; i < record.passes.size(); ++i) {
        const graph::PassRecord& pass = record.passes[i];
        if (recorder_ != nullptr) stream_->record(timed[i].begin);
        PassContext context(pass, record.execution, *stream_);
        pass.node->execute(context);
        if (recorder_ != nullptr) stream_->record(timed[i].end);
    }
    std::move(timed.begin(), timed.end(), std::back_inserter(timed_));
    stream_->signal(timeline_, record.signal);
    return {};
}

Result<void> AcceleratorLane::wait(std::uint64_t value) {
    timeline_->wait(value);
    collect_spans();
    return stream_->status();
}

void AcceleratorLane::collect_spans() {
    std::lock_guard lock(mutex_);
    while (!timed_.empty()) {
        Timed& front = timed_.front();
        const auto begin = front.begin->time();
        const auto end = front.end->time();
        if (!begin || !end) return;
        recorder_->add({std::move(front.name), "accelerator", *begin, *end, front.execution});
        free_events_.push_back(std::move(front.begin));
        free_events_.push_back(std::move(front.end));
        timed_.pop_front();
    }
}

namespace {

/// Transients of one plan, placed in an arena that other plans may share.
class ArenaSlice final : public graph::PlanMemory {
  public:
    ArenaSlice(std::shared_ptr<Memory> arena, const graph::Plan& plan, graph::MemoryDomain domain)
        : arena_(std::move(arena)) {
        for (const graph::PlannedResource& resource : plan.resources) {
            const bool here =
                resource.kind == graph::ResourceKind::Transient && resource.domain == domain && !resource.culled;
            placed_.push_back(here ? graph::Physical{reinterpret_cast<std::uintptr_t>(arena_->data()), resource.offset,
                                                     resource.bytes}
                                   : graph::Physical{});
        }
    }
    graph::Physical physical(std::uint32_t resource) const override { return placed_.at(resource); }

  private:
    std::shared_ptr<Memory> arena_;
    std::vector<graph::Physical> placed_;
};

}  // namespace

AcceleratorMemory::AcceleratorMemory(Device& device) : device_(device) {}
AcceleratorMemory::~AcceleratorMemory() = default;

Result<void> AcceleratorMemory::reserve(std::uint64_t arena_bytes) {
    if (arena_ && arena_->bytes() >= arena_bytes) return {};
    auto memory = device_.allocate("transient arena", arena_bytes);
    if (!memory) return fail(std::move(memory.error()));
    arena_ = std::move(*memory);
    return {};
}

Result<std::unique_ptr<graph::PlanMemory>> AcceleratorMemory::realize(const graph::Plan& plan,
                                                                      graph::MemoryDomain domain) {
    if (auto reserved = reserve(plan.arena_bytes[static_cast<std::size_t>(domain)]); !reserved)
        return fail(std::move(reserved.error()));
    return std::make_unique<ArenaSlice>(arena_, plan, domain);
}

Result<graph::Physical> AcceleratorMemory::create_ring(std::string_view name, std::uint64_t bytes) {
    auto memory = device_.allocate(name, bytes);
    if (!memory) return fail(std::move(memory.error()));
    const auto address = reinterpret_cast<std::uintptr_t>((*memory)->data());
    rings_.emplace(address, std::move(*memory));
    return graph::Physical{address, 0, bytes};
}

void AcceleratorMemory::destroy_ring(const graph::Physical& ring) { rings_.erase(ring.object); }

Result<void> AcceleratorMemory::zero(const graph::Physical& ring) {
    if (!stream_) {
        auto stream = device_.create_stream("history rings");
        if (!stream) return fail(std::move(stream.error()));
        stream_ = std::move(*stream);
    }
    stream_->fill(reinterpret_cast<std::byte*>(ring.object) + ring.offset, std::byte{0}, ring.bytes);
    return stream_->synchronize();
}

}  // namespace kinetograph::accel
