#include <kinetograph/engine/accel/accelerator_lane.hpp>

#include <kinetograph/engine/base/exceptions.hpp>
#include <kinetograph/engine/base/tool_range.hpp>
#include <kinetograph/engine/graph/run_pass.hpp>

#include <utility>

namespace kinetograph::accel {

Result<std::unique_ptr<AcceleratorLane>> AcceleratorLane::create(Device& device, profile::Recorder* recorder,
                                                                 Batches batches, graph::Lane lane) {
    KG_TRY(auto stream, device.create_stream(to_string(lane)));
    KG_TRY(auto timeline, device.create_timeline());
    timeline->set_name(fmt::format("lane {}", to_string(lane)));
    return std::unique_ptr<AcceleratorLane>(
        new AcceleratorLane(device, lane, std::move(stream), std::move(timeline), recorder, batches));
}

AcceleratorLane::AcceleratorLane(Device& device, graph::Lane lane, std::unique_ptr<Stream> stream,
                                 std::shared_ptr<Timeline> timeline, profile::Recorder* recorder, Batches batches)
    : device_(device),
      lane_(lane),
      timeline_(std::move(timeline)),
      batches_(batches),
      stamps_(device, recorder, lane),
      waits_(
          timeline_, [this](const Timeline& other) { return stream_->sees(other); },
          [this] { return device_.create_timeline(); }),
      stream_(std::move(stream)),
      watch_(device, *stream_, *timeline_, waits_) {
    if (batches_ == Batches::Replayed && !device_.info().can_capture) {
        batches_ = Batches::Eager;
        counts_.declined = device_.info().can_capture.reason;
    }
}

AcceleratorLane::~AcceleratorLane() {
    const auto given_up = graph::end_of_lane(*this, waits_, [this] {
        if (!timeline_->wait(watch_.newest(), graph::kLook)) return false;
        if (!watch_.is_outstanding()) return true;
        std::this_thread::sleep_for(graph::kLook / 10);  // the watch has the views signalled
        return false;
    });
    watch_.stop();
    if (!given_up) {
        watch_.log_loss(stream_->synchronize());  // other errors have been reported to callers
        collect();
        timeline_->forget_views();
        return;
    }
    device_.log().error("{}: its work does not end, and is never released", given_up->message);
    for (const auto& view : watch_.views()) view->signal(watch_.newest());
    timeline_->signal(watch_.newest());
    timeline_->forget_views();
    stream_.release()->give_up();
}

graph::LaneState AcceleratorLane::state() const {
    graph::LaneState state{.lane = lane_,
                           .submitted = watch_.newest(),
                           .reached = timeline_->value(),
                           .waits = waits_.unmet(),
                           .error = {},
                           .executes = stream_->executes_on_host()};
    if (auto noted = stream_->noted(); !noted) state.error = std::move(noted.error());
    return state;
}

Result<void> AcceleratorLane::submit(const graph::BatchRecord& record) {
    const std::uint64_t before = watch_.newest();
    auto enqueued = without_exceptions(timeline_->name(), [&]() -> Result<void> {
        const Lock lock(mutex_);
        return enqueue(record);
    });
    if (!enqueued) watch_.expect_no_more_than(before);
    return enqueued;
}

Result<void> AcceleratorLane::enqueue(const graph::BatchRecord& record) {
    stamps_.collect();
    KG_TRY(auto* const graph, graph_for(record));  // captures before anything is enqueued
    watch_.expect(record.signal);                  // before the first call, which may already block
    KG_CHECK(graph != nullptr ? replay(record, *graph) : run_eagerly(record));
    auto views = watch_.views();  // all that may throw comes before the first signal
    stream_->signal(timeline_, record.signal);
    for (auto& view : views) stream_->signal(std::move(view), record.signal);
    if (!stream_->noted()) watch_.wake();  // the driver may have refused a signal
    return {};
}

Result<void> AcceleratorLane::enqueue_waits(const graph::BatchRecord& record) {
    KG_TRY(const auto points, waits_.resolve(record));
    for (graph::Point& point : points) stream_->wait(std::move(point.timeline), point.value);
    return {};
}

Result<void> AcceleratorLane::execute(const graph::BatchRecord& record, const std::vector<PassEvents>& events) {
    for (std::size_t i = 0; i < record.passes.size(); ++i) {
        const graph::PassRecord& pass = record.passes[i];
        if (!events.empty() && (i == 0 || events[i].begin != events[i - 1].end)) stream_->record(events[i].begin);
        PassContext context(pass, record.execution, *stream_);
        const ToolRange range(pass.planned->name);
        KG_CHECK(graph::run_pass(pass.node->execute, context));
        if (!events.empty()) stream_->record(events[i].end);
    }
    return {};
}

Result<void> AcceleratorLane::run_eagerly(const graph::BatchRecord& record) {
    TimedBatch timed = stamps_.begin(record, *timeline_);
    KG_CHECK(stamps_.take_for_passes(timed, record));  // first: an error leaves nothing of the batch behind
    KG_CHECK(enqueue_waits(record));
    KG_CHECK(execute(record, timed.passes));
    if (!record.passes.empty()) count(&BatchCounts::eager);
    stamps_.add(std::move(timed));
    return {};
}

/// The graph to replay for this batch; null: it runs eagerly.
Result<BatchGraph*> AcceleratorLane::graph_for(const graph::BatchRecord& record) {
    if (batches_ == Batches::Eager || record.passes.empty()) return nullptr;
    if (record.passes.front().node->anew) return nullptr;  // then all passes of the batch run anew (cut_batches)
    if (!stream_->noted()) return nullptr;                 // nothing runs until the error has been reported
    BatchGraphs::Entry& entry = graphs_.find(batch_key(record), timeline_->value());
    if (entry.declined) return nullptr;
    const bool stamped = stamps_.are_in_graph(record.execution);
    std::size_t of_this_form = 0;
    for (const auto& graph : entry.graphs) {
        if (graph->passes.empty() == stamped) continue;
        if (!stamped || graph->unread_replays == 0) return graph.get();
        ++of_this_form;
    }
    if (of_this_form >= BatchGraphs::kGraphsPerBatch) return nullptr;  // all captures still have unread times
    if (!stream_->status()) return nullptr;  // or capture() would take that error for the batch's
    auto captured = capture(record);
    if (!captured) {
        entry.declined = std::move(captured.error());
        const Lock lock(counts_mutex_);
        counts_.declined = entry.declined->message;
        return nullptr;
    }
    count(&BatchCounts::captured);
    entry.graphs.push_back(std::move(*captured));
    return entry.graphs.back().get();
}

std::uint64_t AcceleratorLane::timed_every() const {
    if (batches_ == Batches::Eager) return 1;
    return device_.info().can_time_graphs.available ? PassStamps::kEvery : 0;
}

Result<std::unique_ptr<BatchGraph>> AcceleratorLane::capture(const graph::BatchRecord& record) {
    auto batch = std::make_unique<BatchGraph>();
    if (stamps_.are_in_graph(record.execution)) {
        KG_TRY(batch->passes, stamps_.take_for_graph(record));
    }
    KG_CHECK(stream_->begin_capture());
    const auto executed = without_exceptions("capturing", [&] { return execute(record, batch->passes); });
    KG_TRY(batch->graph, stream_->end_capture());  // also after an error
    KG_CHECK(executed);
    return batch;
}

Result<void> AcceleratorLane::replay(const graph::BatchRecord& record, BatchGraph& graph) {
    TimedBatch timed = stamps_.begin(record, *timeline_);
    KG_CHECK(stamps_.take_for_replay(timed, record, graph));
    const ToolRange range(record.passes.front().planned->name);
    KG_CHECK(enqueue_waits(record));
    if (!timed.passes.empty()) stream_->record(timed.passes.front().begin);
    stream_->replay(*graph.graph);
    if (!timed.passes.empty()) stream_->record(timed.passes.front().end);
    if (timed.done) stream_->record(timed.done);
    graph.signal = record.signal;
    count(&BatchCounts::replayed);
    stamps_.add(std::move(timed));
    return {};
}

Result<bool> AcceleratorLane::wait(std::uint64_t value, Nanoseconds timeout) {
    KG_TRY(const bool reached, graph::wait_for({timeline_, value}, timeout));
    if (!reached) return false;
    collect();
    KG_CHECK(stream_->noted());
    KG_CHECK(waits_.status());
    return true;
}

BatchCounts AcceleratorLane::batch_counts() const {
    const Lock lock(counts_mutex_);
    return counts_;
}

void AcceleratorLane::count(std::uint64_t BatchCounts::*which) {
    const Lock lock(counts_mutex_);
    ++(counts_.*which);
}

void AcceleratorLane::collect() {
    Lock lock(mutex_, kDeferred);
    if (lock.try_lock()) stamps_.collect();
}

}  // namespace kinetograph::accel
