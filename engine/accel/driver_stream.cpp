#include <kinetograph/engine/accel/driver_stream.hpp>

#include <algorithm>
#include <exception>

namespace kinetograph::accel {

void DriverStream::Errors::note(Error error) {
    std::lock_guard lock(mutex);
    if (!first) first = std::move(error);
}

bool DriverStream::Errors::pending() {
    std::lock_guard lock(mutex);
    return first.has_value();
}

/// An error is pending, so the call is not made. A capture starts with none.
bool DriverStream::skips() const { return capture_ ? capture_->error.has_value() : errors_->pending(); }

void DriverStream::stop(Error error) {
    if (!capture_)
        errors_->note(std::move(error));
    else if (!capture_->error)
        capture_->error = std::move(error);
}

void DriverStream::note(Error error, std::string_view what) {
    if (error.code == ErrorCode::DeviceLost) return note_late(std::move(error));
    stop({error.code, fmt::format("{}: {}", what, error.message)});
}

/// An error of work that runs is reported by whatever call comes next: it may be about any pass since the last one.
/// Nothing of the stream runs any more.
void DriverStream::note_late(Error error) const {
    {
        std::lock_guard lock(errors_->mutex);
        const std::string& newest = errors_->newest_launch;
        error.message = newest.empty() ? fmt::format("stream \"{}\": {}", name_, error.message)
                                       : fmt::format("{} or a pass before it: {}", newest, error.message);
        if (!errors_->first) errors_->first = error;
    }
    keep_all_promises(error);
}

void DriverStream::refuse_capture(std::string_view what) {
    stop({ErrorCode::Unsupported, fmt::format("{} cannot be captured on stream \"{}\"", what, name_)});
}

struct DriverStream::HostWork {
    std::shared_ptr<Errors> errors;
    std::string name;
    std::function<Result<void>()> run;
};

void DriverStream::run_host_work(void* user_data) {
    const std::unique_ptr<HostWork> work(static_cast<HostWork*>(user_data));
    if (work->errors->pending()) return;
    try {
        if (auto result = work->run(); !result)
            work->errors->note({result.error().code, work->name + ": " + result.error().message});
    } catch (const std::bad_alloc&) {
        work->errors->note({ErrorCode::OutOfMemory, work->name + ": the host is out of memory"});
    } catch (const std::exception& exception) {
        work->errors->note({ErrorCode::Unsupported, work->name + ": " + exception.what()});
    }
}

void DriverStream::enqueue(std::string_view name, std::function<Result<void>()> work) {
    if (capture_) return refuse_capture(fmt::format("host function \"{}\"", name));
    if (skips()) return;
    auto host_work = std::make_unique<HostWork>(HostWork{errors_, std::string(name), std::move(work)});
    if (auto enqueued = enqueue_host_function(&run_host_work, host_work.get()); !enqueued)
        return note(std::move(enqueued.error()), name);
    host_work.release();  // NOLINT(bugprone-unused-return-value): run_host_work() owns it now
}

void DriverStream::launch(const Launch& launch) {
    if (skips()) return;
    auto started = check_launch(launch);
    if (started) started = enqueue_kernel(launch);
    if (!started)
        return note(std::move(started.error()),
                    fmt::format("{}: launching \"{}\"", launch.name, launch.kernel.info().name));
    if (capture_) return;
    std::lock_guard lock(errors_->mutex);
    errors_->newest_launch.assign(launch.name);
}

Result<void> DriverStream::check_launch(const Launch& launch) const {
    const KernelInfo& kernel = launch.kernel.info();
    if (!owns(launch.kernel))
        return fail(ErrorCode::InvalidArgument, "the kernel was loaded on another device than stream \"{}\"", name_);
    if (launch.grid.volume() == 0 || launch.block.volume() == 0)
        return fail(ErrorCode::InvalidArgument, "a grid of {} x {} x {} blocks of {} x {} x {} threads is empty",
                    launch.grid.x, launch.grid.y, launch.grid.z, launch.block.x, launch.block.y, launch.block.z);
    if (kernel.max_threads != 0 && launch.block.volume() > kernel.max_threads)
        return fail(ErrorCode::InvalidArgument, "a block of {} threads, the kernel's limit is {}",
                    launch.block.volume(), kernel.max_threads);
    if (kernel.argument_bytes && *kernel.argument_bytes != launch.arguments.size())
        return fail(ErrorCode::InvalidArgument, "{} bytes of arguments, the kernel takes {}", launch.arguments.size(),
                    *kernel.argument_bytes);
    return {};
}

void DriverStream::fill(std::byte* address, std::byte value, std::uint64_t bytes) {
    if (skips() || bytes == 0) return;
    if (auto filled = enqueue_fill(address, value, bytes); !filled)
        note(std::move(filled.error()), fmt::format("filling {} bytes", bytes));
}

void DriverStream::copy(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    if (skips() || bytes == 0) return;
    if (auto copied = enqueue_copy(to, from, bytes); !copied)
        note(std::move(copied.error()), fmt::format("copying {} bytes", bytes));
}

/// Notes a use of the timeline, before the driver is asked for it: a signal that `promises` a value, or a wait (0).
/// False: it is another device's, which stops the stream.
bool DriverStream::refer_to(const std::shared_ptr<Timeline>& timeline, std::uint64_t promised) {
    if (!timeline || !owns(*timeline)) {
        stop({ErrorCode::InvalidArgument, fmt::format("stream \"{}\": the timeline belongs to another device", name_)});
        return false;
    }
    std::lock_guard lock(references_mutex_);
    auto found = references_.find(timeline);
    if (found == references_.end()) {
        forget_passed();
        found = references_.emplace(timeline, Reference{}).first;
    }
    found->second.newest_use = ++uses_;
    if (promised != 0) {
        found->second.promised = promised;
        found->second.newest_signal = uses_;
    }
    return true;
}

/// Lets go of timelines that are this stream's alone, behind a signal that it has passed.
void DriverStream::forget_passed() {
    std::uint64_t passed = 0;
    for (const auto& [timeline, reference] : references_)
        if (reference.promised != 0 && !reference.owed && timeline->value() >= reference.promised)
            passed = std::max(passed, reference.newest_signal);
    std::erase_if(references_,
                  [&](const auto& entry) { return entry.first.use_count() == 1 && entry.second.newest_use <= passed; });
}

void DriverStream::owe(const std::shared_ptr<Timeline>& timeline) {
    std::lock_guard lock(references_mutex_);
    references_[timeline].owed = true;
}

/// Signals from the host what a device that is lost was asked to signal.
void DriverStream::keep_all_promises(const Error& lost) const {
    std::lock_guard lock(references_mutex_);
    for (auto& [timeline, reference] : references_) {
        if (reference.promised == 0) continue;
        timeline->report(lost);
        timeline->signal(reference.promised);
        reference.owed = false;
    }
}

/// Signals from the host what the driver has refused to, up to the use `passed`, before which nothing runs any more.
void DriverStream::keep_owed_promises(std::uint64_t passed) const {
    std::lock_guard lock(references_mutex_);
    for (auto& [timeline, reference] : references_) {
        if (!reference.owed || reference.newest_signal > passed) continue;
        timeline->signal(reference.promised);
        reference.owed = false;
    }
}

std::uint64_t DriverStream::uses() const {
    std::lock_guard lock(references_mutex_);
    return uses_;
}

void DriverStream::wait(std::shared_ptr<Timeline> timeline, std::uint64_t value) {
    if (capture_) return refuse_capture(fmt::format("waiting for a timeline's value {}", value));
    if (!refer_to(timeline, 0)) return;
    if (auto enqueued = enqueue_wait(*timeline, value); !enqueued)
        note(std::move(enqueued.error()), fmt::format("stream \"{}\" waiting for value {}", name_, value));
}

void DriverStream::signal(std::shared_ptr<Timeline> timeline, std::uint64_t value) {
    if (capture_) return refuse_capture(fmt::format("signalling a timeline's value {}", value));
    if (!refer_to(timeline, value)) return;
    auto enqueued = enqueue_signal(*timeline, value);
    if (enqueued) return;
    owe(timeline);
    note(std::move(enqueued.error()), fmt::format("stream \"{}\" signalling value {}", name_, value));
    (void)status();  // the host does it now, if nothing before it runs
}

void DriverStream::record(std::shared_ptr<Event> event) {
    auto own = std::dynamic_pointer_cast<DriverEvent>(std::move(event));
    if (own == nullptr || !owns(*own))
        return stop(
            {ErrorCode::InvalidArgument, fmt::format("stream \"{}\": the event belongs to another device", name_)});
    if (capture_ && !info().can_time_graphs)
        return refuse_capture(fmt::format("an event record ({})", info().can_time_graphs.reason));
    if (capture_ && skips()) return;
    if (!capture_) own->expect();
    if (auto recorded = capture_ ? capture_record(*own) : enqueue_record(*own); !recorded)
        return note(std::move(recorded.error()), fmt::format("stream \"{}\"", name_));
    if (capture_) capture_->events.push_back(std::move(own));
}

Result<void> DriverStream::begin_capture() {
    if (!info().can_capture)
        return fail(ErrorCode::Unsupported, "capturing stream \"{}\": {}", name_, info().can_capture.reason);
    if (capture_) return fail(ErrorCode::InvalidArgument, "stream \"{}\" is being captured already", name_);
    KG_CHECK(status());
    std::lock_guard lock(capture_mutex_);
    if (auto begun = start_capture(); !begun)
        return fail(std::move(begun.error()), fmt::format("capturing stream \"{}\"", name_));
    capture_.emplace();
    return {};
}

Result<std::shared_ptr<Graph>> DriverStream::end_capture() {
    if (!capture_) return fail(ErrorCode::InvalidArgument, "stream \"{}\" is not being captured", name_);
    std::unique_lock lock(capture_mutex_);
    auto captured = finish_capture();
    Capture capture = std::move(*capture_);
    capture_.reset();
    lock.unlock();
    if (capture.error) return fail(std::move(*capture.error));
    const auto what = [&] { return fmt::format("capturing stream \"{}\"", name_); };
    if (!captured) return fail(std::move(captured.error()), what());
    auto graph = (*captured)->instantiate(std::move(capture.events));
    if (!graph) return fail(std::move(graph.error()), what());
    return graph;
}

void DriverStream::abandon_capture() {
    if (capture_) (void)end_capture();
}

void DriverStream::replay(Graph& graph) {
    if (capture_) return refuse_capture("the replay of a graph");
    if (skips()) return;
    if (!owns(graph))
        return stop(
            {ErrorCode::InvalidArgument, fmt::format("stream \"{}\": the graph belongs to another device", name_)});
    auto& own = static_cast<DriverGraph&>(graph);
    own.expect_events();
    if (auto launched = enqueue_graph(own); !launched)
        note(std::move(launched.error()),
             fmt::format("stream \"{}\" replaying a graph of {} nodes", name_, own.nodes()));
}

Result<void> DriverStream::upload(std::byte* to, std::span<const std::byte> from) {
    if (capture_) refuse_capture("an upload");
    copy(to, from.data(), from.size());
    return synchronize();
}

Result<void> DriverStream::read_back(std::span<std::byte> to, const std::byte* from) {
    if (capture_) refuse_capture("a read-back");
    copy(to.data(), from, to.size());
    return synchronize();
}

Result<void> DriverStream::status() const {
    {
        std::lock_guard lock(capture_mutex_);
        if (!capture_) {
            const std::uint64_t asked_at = uses();
            if (auto idle = query(); !idle)
                note_late(std::move(idle.error()));
            else if (*idle)
                keep_owed_promises(asked_at);
        }
    }
    return noted();
}

Result<void> DriverStream::noted() const {
    std::lock_guard lock(errors_->mutex);
    if (errors_->first) return fail(*errors_->first);
    return {};
}

Result<void> DriverStream::synchronize() {
    if (capture_) {
        refuse_capture("waiting for the stream");
        return fail(*capture_->error);
    }
    if (auto passed = block(); !passed)
        note_late(std::move(passed.error()));
    else
        keep_owed_promises(uses());
    {
        std::lock_guard lock(references_mutex_);
        references_.clear();
    }
    std::lock_guard lock(errors_->mutex);
    if (!errors_->first) return {};
    Error error = std::move(*errors_->first);
    errors_->first.reset();
    return fail(std::move(error));
}

}  // namespace kinetograph::accel
