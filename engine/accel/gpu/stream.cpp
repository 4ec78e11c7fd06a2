#include <kinetograph/engine/accel/gpu/stream.hpp>

#include <kinetograph/engine/base/exceptions.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace kinetograph::accel::gpu {

Result<std::unique_ptr<GpuStream>> GpuStream::create(std::shared_ptr<Context> context, std::string_view name) {
    KG_TRY_IN(fmt::format("stream \"{}\"", name), const auto handle, context->create_stream());
    return std::unique_ptr<GpuStream>(new GpuStream(std::move(context), name, handle, Ownership::Ours));
}

std::unique_ptr<GpuStream> GpuStream::adopt(std::shared_ptr<Context> context, std::string_view name,
                                            StreamHandle handle) {
    return std::unique_ptr<GpuStream>(new GpuStream(std::move(context), name, handle, Ownership::Callers));
}

GpuStream::~GpuStream() {
    if (capture_) (void)end_capture();
    if (ownership_ == Ownership::Callers) {
        if (!wait_for_promises()) give_up_promises();
    } else {
        (void)context_->synchronize(handle_);  // its error has no caller to return to
        context_->release(handle_);
    }
}

/// Waits until the stream has passed its signals or the device is lost; false if a timeline has not advanced for
/// kPatience. Does not touch the stream, which its owner may have destroyed.
bool GpuStream::wait_for_promises() const {
    const Lock lock(references_mutex_);
    for (const auto& [timeline, reference] : references_) {
        if (reference.promised == 0 || reference.refused) continue;
        std::uint64_t before = timeline->value();
        while (!timeline->wait(reference.promised, graph::kPatience)) {
            if (!context_->is_idle(nullptr)) return true;
            const std::uint64_t now = timeline->value();
            if (now == before) return false;
            before = now;
        }
    }
    return true;
}

/// The stream may still write to the timelines, which are leaked.
void GpuStream::give_up_promises() {
    const Lock lock(references_mutex_);
    for (const auto& [timeline, reference] : references_)
        if (const std::uint64_t reached = timeline->value(); reached < reference.promised)
            timeline->report(
                {ErrorCode::Cancelled, fmt::format("stream \"{}\" was given up at value {} of {}, before value {}",
                                                   name_, reached, timeline->name(), reference.promised)});
    const auto* const kept = new (std::nothrow) decltype(references_)(std::move(references_));
    context_->given_up().add([kept] {
        return kept != nullptr && std::ranges::all_of(*kept, [](const auto& entry) {
                   const auto& [timeline, reference] = entry;
                   return reference.promised == 0 || reference.refused || timeline->value() >= reference.promised;
               });
    });
}

void GpuStream::give_up() {
    context_->give_up(handle_);
    context_->given_up().add([self = std::shared_ptr<GpuStream>(this)] {
        const auto idle = self->context_->is_idle(self->handle_);
        return !idle || *idle;
    });
}

template <class Own, class Object>
Own* GpuStream::own(Object* object) const {
    return object->owner() == context_.get() ? static_cast<Own*>(object) : nullptr;
}

bool GpuStream::sees(const Timeline& timeline) const {
    return timeline.owner() == context_->timelines() || timeline.owner() == context_->counters();
}

void GpuStream::Errors::note(Error error) {
    const Lock lock(mutex);
    if (!first) first = std::move(error);
}

bool GpuStream::Errors::pending() {
    const Lock lock(mutex);
    return first.has_value();
}

/// True if an error is pending, so that the call is not made. A capture starts without an error.
bool GpuStream::skips() const { return capture_ ? capture_->error.has_value() : errors_->pending(); }

void GpuStream::stop(Error error) {
    if (!capture_)
        errors_->note(std::move(error));
    else if (!capture_->error)
        capture_->error = std::move(error);
}

void GpuStream::note(Error error, std::string_view what) {
    if (error.code == ErrorCode::DeviceLost) return note_late(std::move(error));
    stop({error.code, fmt::format("{}: {}", what, error.message)});
}

/// An error of running work is reported by the next call: it may be about any pass since the call before. The stream no
/// longer runs anything.
void GpuStream::note_late(Error error) const {
    {
        const Lock lock(errors_->mutex);
        error.message = errors_->newest_launch.empty()
                            ? fmt::format("stream \"{}\": {}", name_, error.message)
                            : fmt::format("{} or a pass before it: {}", errors_->newest_launch, error.message);
        if (!errors_->first) errors_->first = error;
    }
    keep_all_promises(error);
}

void GpuStream::refuse_capture(std::string_view what) {
    stop({ErrorCode::Unsupported, fmt::format("{} cannot be captured on stream \"{}\"", what, name_)});
}

struct GpuStream::HostWork {
    std::shared_ptr<Errors> errors;
    std::string name;
    std::function<Result<void>()> run;
};

void GpuStream::run_host_work(void* user_data) {
    const std::unique_ptr<HostWork> work(static_cast<HostWork*>(user_data));
    if (work->errors->pending()) return;
    auto done = without_exceptions(work->name, [&]() -> Result<void> {
        KG_CHECK_IN(work->name, work->run());
        return {};
    });
    if (!done) work->errors->note(std::move(done.error()));
}

void GpuStream::enqueue(std::string_view name, std::function<Result<void>()> work) {
    if (capture_) return refuse_capture(fmt::format("host function \"{}\"", name));
    if (skips()) return;
    auto host_work = std::make_unique<HostWork>(HostWork{errors_, std::string(name), std::move(work)});
    if (auto enqueued = context_->run_on_host(handle_, &run_host_work, host_work.get()); !enqueued)
        return note(std::move(enqueued.error()), name);
    host_work.release();  // NOLINT(bugprone-unused-return-value): run_host_work() owns it now
}

void GpuStream::launch(const Launch& launch) {
    if (skips()) return;
    const auto* kernel = own<const GpuKernel>(&launch.kernel);
    auto started = check_launch(launch, kernel);
    if (started) started = context_->launch(handle_, launch, kernel->function());
    if (!started)
        return note(std::move(started.error()),
                    fmt::format("{}: launching \"{}\"", launch.name, launch.kernel.info().name));
    if (capture_) return;
    const Lock lock(errors_->mutex);
    errors_->newest_launch.assign(launch.name);
}

Result<void> GpuStream::check_launch(const Launch& launch, const GpuKernel* own_kernel) const {
    const KernelInfo& kernel = launch.kernel.info();
    if (own_kernel == nullptr)
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

void GpuStream::fill(std::byte* address, std::byte value, std::uint64_t bytes) {
    if (skips() || bytes == 0) return;
    if (auto filled = context_->fill(handle_, address, value, bytes); !filled)
        note(std::move(filled.error()), fmt::format("filling {} bytes", bytes));
}

void GpuStream::copy(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    if (skips() || bytes == 0) return;
    if (auto copied = context_->copy(handle_, to, from, bytes); !copied)
        note(std::move(copied.error()), fmt::format("copying {} bytes", bytes));
}

/// Notes a use of the timeline, before the driver is asked for it: a signal that `promises` a value, or a wait (0).
/// False: it is another device's, which stops the stream.
bool GpuStream::refer_to(const std::shared_ptr<Timeline>& timeline, std::uint64_t promised) {
    if (!sees(*timeline)) {
        stop({ErrorCode::InvalidArgument, fmt::format("stream \"{}\": the timeline belongs to another device", name_)});
        return false;
    }
    const Lock lock(references_mutex_);
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

/// Releases timelines that only this stream refers to, once it has passed a later signal.
void GpuStream::forget_passed() {
    std::uint64_t passed = 0;
    for (const auto& [timeline, reference] : references_)
        if (reference.promised != 0 && !reference.refused && timeline->value() >= reference.promised)
            passed = std::max(passed, reference.newest_signal);
    std::erase_if(references_,
                  [&](const auto& entry) { return entry.first.use_count() == 1 && entry.second.newest_use <= passed; });
}

void GpuStream::mark_refused(const std::shared_ptr<Timeline>& timeline) {
    const Lock lock(references_mutex_);
    references_[timeline].refused = true;
}

/// Signals from the host what a device that is lost was asked to signal.
void GpuStream::keep_all_promises(const Error& lost) const {
    const Lock lock(references_mutex_);
    for (auto& [timeline, reference] : references_) {
        if (reference.promised == 0) continue;
        timeline->report(lost);
        timeline->signal(reference.promised);
        reference.refused = false;
    }
}

/// Signals from the host what the driver has refused to, up to the use `passed`, before which all work has ended.
void GpuStream::keep_owed_promises(std::uint64_t passed) const {
    const Lock lock(references_mutex_);
    for (auto& [timeline, reference] : references_) {
        if (!reference.refused || reference.newest_signal > passed) continue;
        timeline->signal(reference.promised);
        reference.refused = false;
    }
}

std::uint64_t GpuStream::uses() const {
    const Lock lock(references_mutex_);
    return uses_;
}

void GpuStream::wait(std::shared_ptr<Timeline> timeline, std::uint64_t value) {
    if (capture_) return refuse_capture(fmt::format("waiting for a timeline's value {}", value));
    if (!refer_to(timeline, 0)) return;
    if (auto enqueued = context_->wait(handle_, timeline, value); !enqueued)
        note(std::move(enqueued.error()), fmt::format("stream \"{}\" waiting for value {}", name_, value));
}

void GpuStream::signal(std::shared_ptr<Timeline> timeline, std::uint64_t value) {
    if (capture_) return refuse_capture(fmt::format("signalling a timeline's value {}", value));
    if (!refer_to(timeline, value)) return;
    auto enqueued = context_->signal(handle_, timeline, value);
    if (enqueued) return;
    mark_refused(timeline);
    note(std::move(enqueued.error()), fmt::format("stream \"{}\" signalling value {}", name_, value));
    (void)status();  // the host does it now, if nothing before it runs
}

void GpuStream::record(std::shared_ptr<Event> event) {
    auto* const mine = own<GpuEvent>(event.get());
    if (mine == nullptr)
        return stop(
            {ErrorCode::InvalidArgument, fmt::format("stream \"{}\": the event belongs to another device", name_)});
    if (capture_ && !context_->info().can_time_graphs)
        return refuse_capture(fmt::format("an event record ({})", context_->info().can_time_graphs.reason));
    if (capture_ && skips()) return;
    if (!capture_) mine->expect();
    if (auto recorded =
            capture_ ? context_->capture_record(handle_, mine->handle()) : context_->record(handle_, mine->handle());
        !recorded)
        return note(std::move(recorded.error()), fmt::format("stream \"{}\"", name_));
    if (capture_) capture_->events.push_back(std::static_pointer_cast<GpuEvent>(std::move(event)));
}

Result<void> GpuStream::begin_capture() {
    if (!context_->info().can_capture)
        return fail(ErrorCode::Unsupported, "capturing stream \"{}\": {}", name_, context_->info().can_capture.reason);
    if (capture_) return fail(ErrorCode::InvalidArgument, "stream \"{}\" is being captured already", name_);
    KG_CHECK(status());
    const Lock lock(capture_mutex_);
    KG_CHECK_IN(fmt::format("capturing stream \"{}\"", name_), context_->begin_capture(handle_));
    capture_.emplace();
    return {};
}

Result<std::shared_ptr<Graph>> GpuStream::end_capture() {
    if (!capture_) return fail(ErrorCode::InvalidArgument, "stream \"{}\" is not being captured", name_);
    Lock lock(capture_mutex_);
    auto captured = context_->end_capture(handle_);
    Capture capture = std::move(*capture_);
    capture_.reset();
    lock.unlock();
    if (capture.error) {
        if (captured) context_->release(*captured);
        return fail(std::move(*capture.error));
    }
    const auto what = [&] { return fmt::format("capturing stream \"{}\"", name_); };
    KG_CHECK_IN(what(), captured);
    KG_TRY_IN(what(), auto graph, GpuGraph::instantiate(context_, *captured, handle_, std::move(capture.events)));
    return graph;
}

void GpuStream::replay(Graph& graph) {
    if (capture_) return refuse_capture("the replay of a graph");
    if (skips()) return;
    auto* const mine = own<GpuGraph>(&graph);
    if (mine == nullptr)
        return stop(
            {ErrorCode::InvalidArgument, fmt::format("stream \"{}\": the graph belongs to another device", name_)});
    mine->expect_events();
    if (auto launched = context_->replay(handle_, mine->handle()); !launched)
        note(std::move(launched.error()),
             fmt::format("stream \"{}\" replaying a graph of {} nodes", name_, mine->nodes()));
}

Result<void> GpuStream::upload(std::byte* to, std::span<const std::byte> from) {
    if (capture_) refuse_capture("an upload");
    if (!skips() && !from.empty())
        if (auto copied = context_->upload(handle_, to, from); !copied)
            note(std::move(copied.error()), fmt::format("copying {} bytes", from.size()));
    return synchronize();
}

Result<void> GpuStream::read_back(std::span<std::byte> to, const std::byte* from) {
    if (capture_) refuse_capture("a read-back");
    if (!skips() && !to.empty())
        if (auto copied = context_->read_back(handle_, to, from); !copied)
            note(std::move(copied.error()), fmt::format("copying {} bytes", to.size()));
    return synchronize();
}

Result<void> GpuStream::status() const {
    {
        const Lock lock(capture_mutex_);
        if (!capture_) {
            const std::uint64_t asked_at = uses();
            if (auto idle = context_->is_idle(handle_); !idle)
                note_late(std::move(idle.error()));
            else if (*idle)
                keep_owed_promises(asked_at);
        }
    }
    return noted();
}

Result<void> GpuStream::noted() const {
    const Lock lock(errors_->mutex);
    if (errors_->first) return fail(*errors_->first);
    return {};
}

Result<void> GpuStream::synchronize() {
    if (capture_) {
        refuse_capture("waiting for the stream");
        return fail(*capture_->error);
    }
    if (auto passed = context_->synchronize(handle_); !passed)
        note_late(std::move(passed.error()));
    else
        keep_owed_promises(uses());
    {
        const Lock lock(references_mutex_);
        references_.clear();
    }
    const Lock lock(errors_->mutex);
    if (!errors_->first) return {};
    Error error = std::move(*errors_->first);
    errors_->first.reset();
    return fail(std::move(error));
}

}  // namespace kinetograph::accel::gpu
