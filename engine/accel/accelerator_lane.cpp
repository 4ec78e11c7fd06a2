#include <kinetograph/engine/accel/accelerator_lane.hpp>

#include <kinetograph/engine/base/exceptions.hpp>
#include <kinetograph/engine/base/tool_range.hpp>
#include <kinetograph/engine/graph/run_pass.hpp>

#include <fmt/ranges.h>
#include <pthread.h>

#include <algorithm>
#include <utility>

namespace kinetograph::accel {
namespace {

constexpr std::uint64_t kStampedEvery = 32;  // executions

}  // namespace

Result<std::unique_ptr<AcceleratorLane>> AcceleratorLane::create(Device& device, profile::Recorder* recorder,
                                                                 Batches batches, graph::Lane lane) {
    KG_TRY(auto stream, device.create_stream(to_string(lane)));
    KG_TRY(auto timeline, device.create_timeline());
    timeline->set_name(fmt::format("lane {}", to_string(lane)));
    return std::unique_ptr<AcceleratorLane>(
        new AcceleratorLane(device, lane, std::move(stream), std::move(timeline), recorder, batches));
}

std::string recorded_device(const DeviceInfo& info) {
    return fmt::format("{} {:02x}", info.kind, fmt::join(info.uuid, ""));
}

AcceleratorLane::AcceleratorLane(Device& device, graph::Lane lane, std::unique_ptr<Stream> stream,
                                 std::shared_ptr<Timeline> timeline, profile::Recorder* recorder, Batches batches)
    : device_(device),
      lane_(lane),
      timeline_(std::move(timeline)),
      recorder_(recorder),
      track_(recorder != nullptr ? recorder->open_track(to_string(lane), recorded_device(device.info()))
                                 : profile::LaneTrack()),
      batches_(batches),
      stream_(std::move(stream)),
      watch_([this] { watch(); }) {
    pthread_setname_np(watch_.native_handle(), "lane watch");
    if (batches_ == Batches::Replayed && !device_.info().can_capture) {
        batches_ = Batches::Eager;
        counts_.declined = device_.info().can_capture.reason;
    }
}

AcceleratorLane::~AcceleratorLane() {
    bool settled = settle(graph::Patience());
    if (!settled && relay_) {
        relay_->give_up();
        settled = settle(graph::Patience(graph::kPatience, graph::kPatience));
    }
    {
        const Lock lock(watch_mutex_);
        watch_ends_ = true;
    }
    watch_wakes_.notify_one();
    watch_.join();
    if (settled) {
        tell_of_loss(stream_->synchronize());  // other errors have been reported to callers
        collect();
        timeline_->forget_views();
        return;
    }
    Error given_up{ErrorCode::Cancelled, fmt::format("{} has ended at value {}, before value {}", timeline_->name(),
                                                     timeline_->value(), owed_.load())};
    device_.log().error("{}: its work does not end, and is never released", given_up.message);
    timeline_->report(std::move(given_up));
    for (const auto& view : views_to_signal()) view->signal(owed_);
    timeline_->signal(owed_);
    timeline_->forget_views();
    stream_.release()->give_up();
}

/// False: the remaining work has been given up.
bool AcceleratorLane::settle(graph::Patience patience) {
    for (;;) {
        if (timeline_->wait(owed_, graph::kLook)) {
            if (!owes_a_value()) return true;
            std::this_thread::sleep_for(graph::kLook / 10);  // the watch has it signalled
        }
        const graph::LaneState now = state();
        if (patience.is_over({&now, 1})) return false;
    }
}

graph::LaneState AcceleratorLane::state() const {
    const std::uint64_t reached = timeline_->value();
    graph::LaneState state{.lane = lane_,
                           .submitted = owed_,
                           .reached = reached,
                           .waits = pending_.unmet(reached),
                           .error = {},
                           .executes = stream_->executes_on_host()};
    if (auto noted = stream_->noted(); !noted) state.error = std::move(noted.error());
    return state;
}

/// Sleeps while nothing is owed, and makes no driver call while values are being reached.
void AcceleratorLane::watch() {
    Lock lock(watch_mutex_);
    while (!watch_ends_) {
        watch_sleeps_ = true;
        watch_wakes_.wait(lock, [&]() KG_REQUIRES(watch_mutex_) { return watch_ends_ || owes_a_value(); });
        watch_sleeps_ = false;
        const std::uint64_t before = timeline_->value();
        watch_wakes_.wait_for(lock, graph::kLook, [&]() KG_REQUIRES(watch_mutex_) { return watch_ends_; });
        if (watch_ends_ || !owes_a_value() || timeline_->value() != before) continue;
        lock.unlock();
        // What fails is tried again at the next look.
        static_cast<void>(without_exceptions("lane watch", [this]() -> Result<void> {
            look_after();
            return {};
        }));
        lock.lock();
    }
}

/// Logs it once.
void AcceleratorLane::tell_of_loss(const Result<void>& status) {
    if (!status && status.error().code == ErrorCode::DeviceLost && !std::exchange(told_, true))
        device_.log().error("{}: {}", timeline_->name(), status.error().message);
}

/// The stream keeps its own promises once it knows that its device is lost.
void AcceleratorLane::look_after() {
    tell_of_loss(stream_->status());
    for (const auto& wait : pending_.unmet(timeline_->value()))
        if (const auto status = wait.point.timeline->status(); !status && status.error().code != ErrorCode::Cancelled)
            release_from_lost(wait);  // Cancelled: the owner may still signal it
}

/// The stream waits on the device for a semaphore that its owner will not signal: signals it from another stream.
void AcceleratorLane::release_from_lost(const graph::PendingWaits::Wait& wait) {
    if (auto status = wait.point.timeline->status(); !status) {
        status.error().message = "a lane that this one waited for: " + status.error().message;
        timeline_->report(std::move(status.error()));
    }
    // Otherwise the relay signals it.
    if (auto imported = seen(wait.point.timeline)) signal_from_another_stream({std::move(imported), wait.point.value});
}

/// Once for each point. The other stream may share a queue of the device with this one, whose wait then blocks both: it
/// is given up after kPatience, and never released.
void AcceleratorLane::signal_from_another_stream(const graph::Point& point) {
    const auto known = std::ranges::find(released_, point.timeline, &graph::Point::timeline);
    if (known != released_.end() && known->value >= point.value) return;
    auto stream = device_.create_stream("releasing a lane");
    auto passed = device_.create_timeline();
    if (!stream || !passed) return;
    if (known != released_.end())
        known->value = point.value;
    else
        released_.push_back(point);
    (*stream)->signal(point.timeline, point.value);
    (*stream)->signal(*passed, 1);
    if (passes(**stream, **passed)) return;
    device_.log().error("{}: the stream that is to release it from {} cannot run, and is never released",
                        timeline_->name(), point.timeline->name());
    stream->release()->give_up();
}

/// Whether `stream` signals value 1 of `timeline` within kPatience and before the watch ends.
bool AcceleratorLane::passes(Stream& stream, Timeline& timeline) {
    for (const Nanoseconds begin = host_now(); !timeline.wait(1, graph::kLook / 10);) {
        static_cast<void>(stream.status());  // the host signals if the device is lost
        const bool is_late = host_now() - begin > graph::kPatience;
        const Lock lock(watch_mutex_);
        if (watch_ends_ || is_late) break;
    }
    return timeline.wait(1, graph::kLook);
}

/// From here on the watch observes the values given to the stream.
void AcceleratorLane::owe(std::uint64_t value) {
    owed_ = value;
    if (watch_sleeps_) wake_watch();
}

void AcceleratorLane::wake_watch() {
    { const Lock lock(watch_mutex_); }  // so the watch is not between its check and its wait
    watch_wakes_.notify_one();
}

/// The views follow the lane's own timeline, unless the driver has refused to signal them.
bool AcceleratorLane::owes_a_value() const {
    const std::uint64_t owed = owed_;
    if (timeline_->value() < owed) return true;
    if (stream_->noted()) return false;
    return std::ranges::any_of(views_to_signal(), [&](const auto& view) { return view->value() < owed; });
}

/// The views of the lane's timeline that the stream can signal.
std::vector<std::shared_ptr<Timeline>> AcceleratorLane::views_to_signal() const {
    std::vector<std::shared_ptr<Timeline>> views;
    timeline_->visit_views([&](const auto& view) {
        if (stream_->sees(*view)) views.push_back(view);
    });
    return views;
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

Result<PassEvents> AcceleratorLane::take_events(std::string_view name) {
    KG_TRY_IN(name, auto begin, take_event());
    KG_TRY_IN(name, auto end, take_event());
    return PassEvents{recorder_->names().intern(name), std::move(begin), std::move(end)};
}

Result<void> AcceleratorLane::submit(const graph::BatchRecord& record) {
    const std::uint64_t owed = owed_;
    auto enqueued = without_exceptions(timeline_->name(), [&]() -> Result<void> {
        const Lock lock(mutex_);
        return enqueue(record);
    });
    if (!enqueued) owed_ = owed;
    return enqueued;
}

Result<void> AcceleratorLane::enqueue(const graph::BatchRecord& record) {
    collect_locked();
    KG_TRY(auto* const graph, graph_for(record));  // captures before anything is enqueued
    owe(record.signal);                            // before the first call, which may already block
    KG_CHECK(graph != nullptr ? replay(record, *graph) : run_eagerly(record));
    auto views = views_to_signal();  // all that may throw comes before the first signal
    stream_->signal(timeline_, record.signal);
    for (auto& view : views) stream_->signal(std::move(view), record.signal);
    if (!stream_->noted()) wake_watch();  // the driver may have refused a signal
    return {};
}

std::shared_ptr<Timeline> AcceleratorLane::seen(const std::shared_ptr<Timeline>& timeline) const {
    if (stream_->sees(*timeline)) return timeline;
    std::shared_ptr<Timeline> found;
    timeline->visit_views([&](const auto& view) {
        if (!found && stream_->sees(*view)) found = view;
    });
    return found;
}

/// Separates what the batch waits for into what the stream sees and what the relay signals.
Result<void> AcceleratorLane::resolve_waits(const graph::BatchRecord& record) {
    const Lock lock(points_mutex_);
    waits_.clear();
    relayed_.clear();
    pending_.forget(timeline_->value());
    const auto resolve = [&](const graph::Point& point) KG_REQUIRES(mutex_) {
        auto own = seen(point.timeline);
        if (point.timeline != timeline_) pending_.add(record.signal, point, own);
        if (own)
            waits_.push_back({std::move(own), point.value});
        else if (!point.reached() || !point.timeline->status())
            relayed_.push_back(point);
    };
    for (const graph::ResolvedWait& wait : record.waits) resolve({wait.lane->timeline(), wait.value});
    for (const graph::Point& point : record.points) resolve(point);
    if (relayed_.empty()) return {};
    if (!relay_) {
        KG_TRY_IN("relay between lanes", auto target, device_.create_timeline());
        relay_ = std::make_unique<graph::Relay>(std::move(target));
    }
    waits_.push_back({relay_->timeline(), relay_->promise(relayed_)});
    return {};
}

Result<void> AcceleratorLane::enqueue_waits(const graph::BatchRecord& record) {
    KG_CHECK(resolve_waits(record));
    for (graph::Point& point : waits_) stream_->wait(std::move(point.timeline), point.value);
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

AcceleratorLane::Timed AcceleratorLane::timed_of(const graph::BatchRecord& record) {
    return {.execution = record.execution,
            .plan = recorder_ != nullptr ? recorder_->note(record, *timeline_, track_.name()) : profile::kNoPlan,
            .passes = {},
            .replayed = nullptr,
            .done = nullptr};
}

Result<void> AcceleratorLane::run_eagerly(const graph::BatchRecord& record) {
    Timed timed = timed_of(record);
    if (recorder_ != nullptr) {  // events first: an error leaves nothing of the batch behind
        timed.passes.reserve(record.passes.size());
        for (const graph::PassRecord& pass : record.passes) {
            KG_TRY(auto events, take_events(pass.planned->name));
            timed.passes.push_back(std::move(events));
        }
    }
    KG_CHECK(enqueue_waits(record));
    KG_CHECK(execute(record, timed.passes));
    if (!record.passes.empty()) count(&BatchCounts::eager);
    if (!timed.passes.empty()) timed_.push_back(std::move(timed));
    return {};
}

/// The graph to replay for this batch; null: it runs eagerly.
Result<BatchGraph*> AcceleratorLane::graph_for(const graph::BatchRecord& record) {
    if (batches_ == Batches::Eager || record.passes.empty()) return nullptr;
    if (record.passes.front().node->anew) return nullptr;  // then all passes of the batch run anew (cut_batches)
    if (!stream_->noted()) return nullptr;                 // nothing runs until the error has been reported
    BatchGraphs::Entry& entry = graphs_.find(batch_key(record), timeline_->value());
    if (entry.declined) return nullptr;
    const bool stamped = times_graphs() && is_stamped(record.execution);
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
        const Lock lock(points_mutex_);
        counts_.declined = entry.declined->message;
        return nullptr;
    }
    count(&BatchCounts::captured);
    entry.graphs.push_back(std::move(*captured));
    return entry.graphs.back().get();
}

/// A stamp inside a graph costs the device and the replaying thread two microseconds each, and separates kernels that
/// would overlap: a decoder's step takes a tenth longer with a stamp after every pass (H200). So most executions have
/// none.
bool AcceleratorLane::is_stamped(std::uint64_t execution) {
    constexpr std::uint64_t kFirst = 16;
    return execution < kFirst || execution % kStampedEvery == 0;
}

std::uint64_t AcceleratorLane::timed_every() const {
    if (batches_ == Batches::Eager) return 1;
    return device_.info().can_time_graphs.available ? kStampedEvery : 0;
}

/// A pass begins where the one before it ends, so n passes need n + 1 stamps.
Result<std::vector<PassEvents>> AcceleratorLane::take_chained_events(const graph::BatchRecord& record) {
    std::vector<PassEvents> chain;
    chain.reserve(record.passes.size());
    KG_TRY(auto begin, take_event());
    for (const graph::PassRecord& pass : record.passes) {
        KG_TRY_IN(pass.planned->name, auto end, take_event());
        chain.push_back({recorder_->names().intern(pass.planned->name), begin, end});
        begin = std::move(end);
    }
    return chain;
}

bool AcceleratorLane::times_graphs() const { return recorder_ != nullptr && device_.info().can_time_graphs.available; }

Result<std::unique_ptr<BatchGraph>> AcceleratorLane::capture(const graph::BatchRecord& record) {
    auto batch = std::make_unique<BatchGraph>();
    if (times_graphs() && is_stamped(record.execution)) {
        KG_TRY(batch->passes, take_chained_events(record));
    }
    KG_CHECK(stream_->begin_capture());
    const auto executed = without_exceptions("capturing", [&] { return execute(record, batch->passes); });
    KG_TRY(batch->graph, stream_->end_capture());  // also after an error
    KG_CHECK(executed);
    return batch;
}

Result<void> AcceleratorLane::replay(const graph::BatchRecord& record, BatchGraph& graph) {
    Timed timed = timed_of(record);
    if (!graph.passes.empty()) {
        KG_TRY(timed.done, take_event());
        timed.replayed = &graph;
    } else if (recorder_ != nullptr) {
        KG_TRY(auto events,
               take_events(fmt::format("{} passes from {} to {}", record.passes.size(),
                                       record.passes.front().planned->name, record.passes.back().planned->name)));
        timed.passes.push_back(std::move(events));
    }
    const ToolRange range(record.passes.front().planned->name);
    KG_CHECK(enqueue_waits(record));
    if (!timed.passes.empty()) stream_->record(timed.passes.front().begin);
    stream_->replay(*graph.graph);
    if (!timed.passes.empty()) stream_->record(timed.passes.front().end);
    if (timed.done) stream_->record(timed.done);
    graph.signal = record.signal;
    if (timed.replayed != nullptr) ++graph.unread_replays;
    count(&BatchCounts::replayed);
    if (recorder_ != nullptr) timed_.push_back(std::move(timed));
    return {};
}

Result<bool> AcceleratorLane::wait(std::uint64_t value, Nanoseconds timeout) {
    KG_TRY(const bool reached, graph::wait_for({timeline_, value}, timeout));
    if (!reached) return false;
    collect();
    KG_CHECK(stream_->noted());
    const Lock lock(points_mutex_);
    if (relay_)
        if (auto error = relay_->error()) return fail(std::move(*error));
    return true;
}

BatchCounts AcceleratorLane::batch_counts() const {
    const Lock lock(points_mutex_);
    return counts_;
}

void AcceleratorLane::count(std::uint64_t BatchCounts::*which) {
    const Lock lock(points_mutex_);
    ++(counts_.*which);
}

void AcceleratorLane::collect() {
    Lock lock(mutex_, kDeferred);
    if (lock.try_lock()) collect_locked();
}

void AcceleratorLane::collect_locked() {
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
        if (begin && end)
            recorder_->add(profile::SpanRecord{pass.name, track_.name(), batch.plan, *begin, *end, batch.execution});
        before = &pass;
    }
    if (const auto clock = device_.clock_quality())
        recorder_->note_clock(track_.name(), clock->error, clock->drift_ppm);
    for (PassEvents& pass : batch.passes) {
        give_back(std::move(pass.begin));
        give_back(std::move(pass.end));
    }
    give_back(std::move(batch.done));
    if (batch.replayed != nullptr) --batch.replayed->unread_replays;
    return true;
}

}  // namespace kinetograph::accel
