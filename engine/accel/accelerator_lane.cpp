#include <kinetograph/engine/accel/accelerator_lane.hpp>

#include <algorithm>

namespace kinetograph::accel {

Result<std::unique_ptr<AcceleratorLane>> AcceleratorLane::create(Device& device, profile::Recorder* recorder,
                                                                 Batches batches) {
    KG_TRY(auto stream, device.create_stream("accelerator"));
    KG_TRY(auto timeline, device.create_timeline());
    return std::unique_ptr<AcceleratorLane>(
        new AcceleratorLane(device, std::move(stream), std::move(timeline), recorder, batches));
}

AcceleratorLane::AcceleratorLane(Device& device, std::unique_ptr<Stream> stream, std::shared_ptr<Timeline> timeline,
                                 profile::Recorder* recorder, Batches batches)
    : device_(device),
      timeline_(std::move(timeline)),
      recorder_(recorder),
      batches_(batches),
      stream_(std::move(stream)),
      progress_(std::make_shared<LaneProgress>(timeline_, *stream_)) {
    if (batches_ == Batches::Replayed && !device_.info().can_capture) {
        batches_ = Batches::Eager;
        counts_.declined = device_.info().can_capture.reason;
    }
}

AcceleratorLane::~AcceleratorLane() {
    static_cast<void>(stream_->synchronize());  // an error nobody asked for has nobody to be told
    progress_->end();
    collect();
}

Result<std::shared_ptr<Event>> AcceleratorLane::take_event() {
    if (free_events_.empty()) return device_.create_event();
    auto event = std::move(free_events_.back());
    free_events_.pop_back();
    return event;
}

void AcceleratorLane::give_back(std::shared_ptr<Event> event) {
    if (event) free_events_.push_back(std::move(event));
}

Result<PassEvents> AcceleratorLane::take_events(std::string name) {
    auto begin = take_event();
    if (!begin) return fail(std::move(begin.error()), name);
    auto end = take_event();
    if (!end) return fail(std::move(end.error()), name);
    return PassEvents{std::move(name), std::move(*begin), std::move(*end)};
}

Result<void> AcceleratorLane::submit(const graph::BatchRecord& record) {
    collect();
    std::lock_guard lock(mutex_);
    auto graph = graph_for(record);  // captures before anything is enqueued
    if (!graph) return fail(std::move(graph.error()));
    KG_CHECK(*graph != nullptr ? replay(record, **graph) : run_eagerly(record));
    stream_->signal(timeline_, record.signal);
    for (const auto& timeline : signalled_too_) stream_->signal(timeline, record.signal);
    return {};
}

std::shared_ptr<Timeline> AcceleratorLane::timeline_of(const graph::LaneBackend& lane) const {
    const auto* accelerator = dynamic_cast<const AcceleratorLane*>(&lane);
    if (accelerator != nullptr && &accelerator->device_ == &device_) return accelerator->timeline_;
    const auto visible = visible_.find(&lane);
    return visible != visible_.end() ? visible->second : nullptr;
}

Result<void> AcceleratorLane::enqueue_waits(const graph::BatchRecord& record) {
    relayed_.clear();
    for (const graph::ResolvedWait& wait : record.waits)
        if (timeline_of(*wait.lane) == nullptr) relayed_.push_back(wait);
    relayed_.insert(relayed_.end(), other_waits_.begin(), other_waits_.end());
    if (!relayed_.empty() && !relay_) {
        KG_TRY(relay_, Relay::create(device_));
    }
    for (const graph::ResolvedWait& wait : record.waits)
        if (auto timeline = timeline_of(*wait.lane)) stream_->wait(std::move(timeline), wait.value);
    for (Point& point : waits_) stream_->wait(std::move(point.timeline), point.value);
    if (!relayed_.empty()) stream_->wait(relay_->timeline(), relay_->promise(relayed_));
    waits_.clear();
    other_waits_.clear();
    return {};
}

void AcceleratorLane::can_see(const graph::LaneBackend& lane, std::shared_ptr<Timeline> timeline) {
    std::lock_guard lock(mutex_);
    visible_.insert_or_assign(&lane, std::move(timeline));
}

void AcceleratorLane::signal_too(std::shared_ptr<Timeline> timeline) {
    std::lock_guard lock(mutex_);
    signalled_too_.push_back(std::move(timeline));
}

void AcceleratorLane::wait_before_next(std::shared_ptr<Timeline> timeline, std::uint64_t value) {
    std::lock_guard lock(mutex_);
    waits_.push_back({std::move(timeline), value});
}

void AcceleratorLane::wait_before_next(const graph::ResolvedWait& wait) {
    std::lock_guard lock(mutex_);
    other_waits_.push_back(wait);
}

void AcceleratorLane::execute(const graph::BatchRecord& record, const std::vector<PassEvents>& events) {
    for (std::size_t i = 0; i < record.passes.size(); ++i) {
        const graph::PassRecord& pass = record.passes[i];
        if (!events.empty() && (i == 0 || events[i].begin != events[i - 1].end)) stream_->record(events[i].begin);
        PassContext context(pass, record.execution, *stream_);
        pass.node->execute(context);
        if (!events.empty()) stream_->record(events[i].end);
    }
}

Result<void> AcceleratorLane::run_eagerly(const graph::BatchRecord& record) {
    Timed timed{.execution = record.execution, .passes = {}, .replayed = nullptr, .done = nullptr};
    if (recorder_ != nullptr) {  // events first: an error leaves nothing of the batch behind
        timed.passes.reserve(record.passes.size());
        for (const graph::PassRecord& pass : record.passes) {
            KG_TRY(auto events, take_events(pass.planned->name));
            timed.passes.push_back(std::move(events));
        }
    }
    KG_CHECK(enqueue_waits(record));
    execute(record, timed.passes);
    if (!record.passes.empty()) ++counts_.eager;
    if (!timed.passes.empty()) timed_.push_back(std::move(timed));
    return {};
}

/// The graph to replay for this batch; null: it runs eagerly.
Result<BatchGraph*> AcceleratorLane::graph_for(const graph::BatchRecord& record) {
    if (batches_ == Batches::Eager || record.passes.empty()) return nullptr;
    if (record.passes.front().node->anew) return nullptr;  // so are all of its batch
    if (!stream_->status()) return nullptr;                // nothing runs until the error has been reported
    BatchGraphs::Entry& entry = graphs_.find(batch_key(record), timeline_->value());
    if (entry.declined) return nullptr;
    for (const auto& graph : entry.graphs)
        if (graph->unread_replays == 0 || graph->passes.empty()) return graph.get();
    if (entry.graphs.size() >= BatchGraphs::kGraphsPerBatch) return nullptr;  // nobody reads the times of so many
    auto captured = capture(record);
    if (!captured) {
        entry.declined = std::move(captured.error());
        counts_.declined = entry.declined->message;
        return nullptr;
    }
    ++counts_.captured;
    entry.graphs.push_back(std::move(*captured));
    return entry.graphs.back().get();
}

/// A stamp inside a graph costs the device and whoever replays it two microseconds each (H200): a pass begins where the
/// one before it ends.
Result<std::vector<PassEvents>> AcceleratorLane::take_chained_events(const graph::BatchRecord& record) {
    std::vector<PassEvents> chain;
    chain.reserve(record.passes.size());
    auto begin = take_event();
    if (!begin) return fail(std::move(begin.error()));
    for (const graph::PassRecord& pass : record.passes) {
        auto end = take_event();
        if (!end) return fail(std::move(end.error()), pass.planned->name);
        chain.push_back({pass.planned->name, *begin, *end});
        begin = std::move(end);
    }
    return chain;
}

bool AcceleratorLane::times_graphs() const { return recorder_ != nullptr && device_.info().can_time_graphs.available; }

Result<std::unique_ptr<BatchGraph>> AcceleratorLane::capture(const graph::BatchRecord& record) {
    auto batch = std::make_unique<BatchGraph>();
    if (times_graphs()) {
        KG_TRY(batch->passes, take_chained_events(record));
    }
    KG_CHECK(stream_->begin_capture());
    execute(record, batch->passes);
    KG_TRY(batch->graph, stream_->end_capture());
    return batch;
}

Result<void> AcceleratorLane::replay(const graph::BatchRecord& record, BatchGraph& graph) {
    Timed timed{.execution = record.execution, .passes = {}, .replayed = nullptr, .done = nullptr};
    if (times_graphs()) {
        KG_TRY(timed.done, take_event());
        timed.replayed = &graph;
    } else if (recorder_ != nullptr) {
        KG_TRY(auto events,
               take_events(fmt::format("{} passes from {} to {}", record.passes.size(),
                                       record.passes.front().planned->name, record.passes.back().planned->name)));
        timed.passes.push_back(std::move(events));
    }
    KG_CHECK(enqueue_waits(record));
    if (!timed.passes.empty()) stream_->record(timed.passes.front().begin);
    stream_->replay(*graph.graph);
    if (!timed.passes.empty()) stream_->record(timed.passes.front().end);
    if (timed.done) stream_->record(timed.done);
    graph.signal = record.signal;
    if (timed.replayed != nullptr) ++graph.unread_replays;
    ++counts_.replayed;
    if (recorder_ != nullptr) timed_.push_back(std::move(timed));
    return {};
}

Result<void> AcceleratorLane::wait(std::uint64_t value) {
    KG_CHECK(progress_->wait(value));
    collect();
    KG_CHECK(stream_->status());
    std::lock_guard lock(mutex_);
    if (relay_ == nullptr) return {};
    if (auto error = relay_->error()) return fail(std::move(*error));
    return {};
}

BatchCounts AcceleratorLane::batch_counts() const {
    std::lock_guard lock(mutex_);
    return counts_;
}

void AcceleratorLane::collect() {
    std::lock_guard lock(mutex_);
    while (!timed_.empty() && collect(timed_.front())) timed_.pop_front();
}

/// Adds the spans of a batch that the stream has passed; false: it has not.
bool AcceleratorLane::collect(Timed& batch) {
    const auto& last = batch.done ? batch.done : batch.passes.back().end;
    if (!last->time()) return false;
    const PassEvents* before = nullptr;
    std::optional<Nanoseconds> end;
    for (const PassEvents& pass : batch.replayed != nullptr ? batch.replayed->passes : batch.passes) {
        const auto begin = before != nullptr && before->end == pass.begin ? end : pass.begin->time();
        end = pass.end->time();
        if (begin && end) recorder_->add({pass.name, "accelerator", *begin, *end, batch.execution});
        before = &pass;
    }
    for (PassEvents& pass : batch.passes) {
        give_back(std::move(pass.begin));
        give_back(std::move(pass.end));
    }
    give_back(std::move(batch.done));
    if (batch.replayed != nullptr) --batch.replayed->unread_replays;
    return true;
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
    KG_TRY(arena_, device_.allocate("transient arena", arena_bytes));
    return {};
}

Result<std::unique_ptr<graph::PlanMemory>> AcceleratorMemory::realize(const graph::Plan& plan,
                                                                      graph::MemoryDomain domain) {
    KG_CHECK(reserve(plan.arena_bytes[static_cast<std::size_t>(domain)]));
    return std::make_unique<ArenaSlice>(arena_, plan, domain);
}

Result<graph::Physical> AcceleratorMemory::create_ring(std::string_view name, std::uint64_t bytes) {
    KG_TRY(auto memory, device_.allocate(name, bytes));
    const auto address = reinterpret_cast<std::uintptr_t>(memory->data());
    rings_.emplace(address, std::move(memory));
    return graph::Physical{address, 0, bytes};
}

void AcceleratorMemory::destroy_ring(const graph::Physical& ring) { rings_.erase(ring.object); }

Result<void> AcceleratorMemory::zero(const graph::Physical& ring) {
    if (!stream_) {
        KG_TRY(stream_, device_.create_stream("history rings"));
    }
    stream_->fill(reinterpret_cast<std::byte*>(ring.object) + ring.offset, std::byte{0}, ring.bytes);
    return stream_->synchronize();
}

}  // namespace kinetograph::accel
