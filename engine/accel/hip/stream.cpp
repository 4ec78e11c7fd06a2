#include <kinetograph/engine/accel/hip/stream.hpp>

#include <kinetograph/engine/accel/hip/module.hpp>

#include <exception>

namespace kinetograph::accel::hip {

void HipStream::Errors::note(Error error) {
    std::lock_guard lock(mutex);
    if (!first) first = std::move(error);
}

bool HipStream::Errors::pending() {
    std::lock_guard lock(mutex);
    return first.has_value();
}

Result<std::unique_ptr<HipStream>> HipStream::create(std::shared_ptr<Context> context, std::string_view name) {
    const std::string what = fmt::format("stream \"{}\"", name);
    if (auto current = context->make_current(); !current) return fail(std::move(current.error()), what);
    StreamHandle handle = nullptr;
    if (auto made = context->runtime->check(context->hip().hipStreamCreateWithFlags(&handle, kStreamNonBlocking),
                                            "hipStreamCreateWithFlags");
        !made)
        return fail(std::move(made.error()), what);
    return std::unique_ptr<HipStream>(new HipStream(std::move(context), name, handle));
}

HipStream::~HipStream() {
    if (capture_) (void)end_capture();
    (void)context_->make_current();
    (void)context_->hip().hipStreamSynchronize(handle_);  // an error nobody asked for has nobody to be told
    (void)context_->hip().hipStreamDestroy(handle_);
}

/// An error is pending, so the call is not made. A capture starts with none.
bool HipStream::skips() const { return capture_ ? capture_->error.has_value() : errors_->pending(); }

void HipStream::stop(Error error) {
    if (!capture_)
        errors_->note(std::move(error));
    else if (!capture_->error)
        capture_->error = std::move(error);
}

void HipStream::note(Error error, std::string_view what) {
    if (error.code == ErrorCode::DeviceLost) return note_late(std::move(error));
    stop({error.code, fmt::format("{}: {}", what, error.message)});
}

void HipStream::refuse_capture(std::string_view what) {
    stop({ErrorCode::Unsupported, fmt::format("{} cannot be captured on stream \"{}\"", what, name_)});
}

struct HipStream::HostWork {
    std::shared_ptr<Errors> errors;
    std::string name;
    std::function<Result<void>()> run;
};

void HipStream::run_host_work(void* user_data) {
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

void HipStream::enqueue(std::string_view name, std::function<Result<void>()> work) {
    if (capture_) return refuse_capture(fmt::format("host function \"{}\"", name));
    if (skips()) return;
    auto host_work = std::make_unique<HostWork>(HostWork{errors_, std::string(name), std::move(work)});
    (void)context_->make_current();
    auto enqueued = context_->runtime->check(
        context_->hip().hipLaunchHostFunc(handle_, &run_host_work, host_work.get()), "hipLaunchHostFunc");
    if (!enqueued) return note(std::move(enqueued.error()), name);
    host_work.release();  // NOLINT(bugprone-unused-return-value): run_host_work() owns it now
}

void HipStream::launch(const Launch& launch) {
    if (skips()) return;
    if (auto started = start_kernel(launch); !started)
        note(std::move(started.error()), fmt::format("{}: launching \"{}\"", launch.name, launch.kernel.info().name));
}

Result<void> HipStream::check_launch(const Launch& launch) const {
    const KernelInfo& info = launch.kernel.info();
    if (launch.cluster != Extent3{})
        return fail(ErrorCode::Unsupported, "a cluster of {} x {} x {} blocks: HIP devices have no clusters",
                    launch.cluster.x, launch.cluster.y, launch.cluster.z);
    if (launch.grid.volume() == 0 || launch.block.volume() == 0)
        return fail(ErrorCode::InvalidArgument, "a grid of {} x {} x {} blocks of {} x {} x {} threads is empty",
                    launch.grid.x, launch.grid.y, launch.grid.z, launch.block.x, launch.block.y, launch.block.z);
    if (info.max_threads != 0 && launch.block.volume() > info.max_threads)
        return fail(ErrorCode::InvalidArgument, "a block of {} threads, the kernel's limit is {}",
                    launch.block.volume(), info.max_threads);
    if (info.argument_bytes && *info.argument_bytes != launch.arguments.size())
        return fail(ErrorCode::InvalidArgument, "{} bytes of arguments, the kernel takes {}", launch.arguments.size(),
                    *info.argument_bytes);
    return {};
}

Result<void> HipStream::start_kernel(const Launch& launch) {
    const auto* kernel = dynamic_cast<const HipKernel*>(&launch.kernel);
    if (kernel == nullptr || &kernel->module().context() != context_.get())
        return fail(ErrorCode::InvalidArgument, "the kernel was loaded on another device than stream \"{}\"", name_);
    if (auto checked = check_launch(launch); !checked) return checked;
    if (auto current = context_->make_current(); !current) return current;
    // The runtime copies the arguments; its interface only forgot the const.
    std::size_t bytes = launch.arguments.size();
    void* extra[] = {kLaunchBufferPointer, const_cast<std::byte*>(launch.arguments.data()), kLaunchBufferSize, &bytes,
                     kLaunchEnd};
    auto launched = context_->runtime->check(
        context_->hip().hipModuleLaunchKernel(kernel->function(), launch.grid.x, launch.grid.y, launch.grid.z,
                                              launch.block.x, launch.block.y, launch.block.z,
                                              launch.dynamic_shared_bytes, handle_, nullptr, extra),
        "hipModuleLaunchKernel");
    if (launched && !capture_) {
        std::lock_guard lock(errors_->mutex);
        errors_->newest_launch.assign(launch.name);
    }
    return launched;
}

void HipStream::fill(std::byte* address, std::byte value, std::uint64_t bytes) {
    if (skips() || bytes == 0) return;
    (void)context_->make_current();
    const Status status = context_->hip().hipMemsetAsync(address, std::to_integer<int>(value), bytes, handle_);
    if (status != Status::Success)
        stop(context_->runtime->error(status, fmt::format("filling {} bytes: hipMemsetAsync", bytes)));
}

Result<void> HipStream::transfer(void* to, const void* from, std::uint64_t bytes) {
    if (bytes == 0) return {};
    if (auto current = context_->make_current(); !current) return current;
    const Status status = context_->hip().hipMemcpyAsync(to, from, bytes, kMemcpyDefault, handle_);
    if (status == Status::Success) return {};
    return fail(context_->runtime->error(status, fmt::format("copying {} bytes: hipMemcpyAsync", bytes)));
}

void HipStream::copy(std::byte* to, const std::byte* from, std::uint64_t bytes) {
    if (skips()) return;
    if (auto copied = transfer(to, from, bytes); !copied) stop(std::move(copied.error()));
}

Result<StreamTimeline*> HipStream::own_timeline(const std::shared_ptr<Timeline>& timeline) {
    auto* own = dynamic_cast<StreamTimeline*>(timeline.get());
    if (own == nullptr || &own->context() != context_.get())
        return fail(ErrorCode::InvalidArgument, "stream \"{}\": the timeline belongs to another device", name_);
    timelines_.insert(timeline);
    if (auto current = context_->make_current(); !current) return fail(std::move(current.error()));
    return own;
}

void HipStream::wait(std::shared_ptr<Timeline> timeline, std::uint64_t value) {
    if (capture_) return refuse_capture(fmt::format("waiting for a timeline's value {}", value));
    auto own = own_timeline(timeline);
    if (!own) return stop(std::move(own.error()));
    if (auto enqueued = (*own)->enqueue_wait(handle_, value); !enqueued)
        note(std::move(enqueued.error()), fmt::format("stream \"{}\" waiting for value {}", name_, value));
}

void HipStream::signal(std::shared_ptr<Timeline> timeline, std::uint64_t value) {
    if (capture_) return refuse_capture(fmt::format("signalling a timeline's value {}", value));
    auto own = own_timeline(timeline);
    if (!own) return stop(std::move(own.error()));
    if (auto enqueued = (*own)->enqueue_signal(handle_, value); !enqueued)
        note(std::move(enqueued.error()), fmt::format("stream \"{}\" signalling value {}", name_, value));
}

void HipStream::record(std::shared_ptr<Event> event) {
    auto own = std::dynamic_pointer_cast<HipEvent>(std::move(event));
    if (own == nullptr)
        return stop(
            {ErrorCode::InvalidArgument, fmt::format("stream \"{}\": the event belongs to another device", name_)});
    (void)context_->make_current();
    if (capture_) return capture_record(std::move(own));
    own->expect();
    const Status status = context_->hip().hipEventRecord(own->handle(), handle_);
    if (status != Status::Success)
        note(context_->runtime->error(status, "hipEventRecord"), fmt::format("stream \"{}\"", name_));
}

void HipStream::capture_record(std::shared_ptr<HipEvent> event) {
    if (!context_->info.can_time_graphs)
        return refuse_capture(fmt::format("an event record ({})", context_->info.can_time_graphs.reason));
    if (skips()) return;
    if (auto captured = capture_event(*context_, handle_, *event); !captured)
        return note(std::move(captured.error()), fmt::format("stream \"{}\"", name_));
    capture_->events.push_back(std::move(event));
}

Result<void> HipStream::begin_capture() {
    if (!context_->info.can_capture)
        return fail(ErrorCode::Unsupported, "capturing stream \"{}\": {}", name_, context_->info.can_capture.reason);
    if (capture_) return fail(ErrorCode::InvalidArgument, "stream \"{}\" is being captured already", name_);
    if (auto current = context_->make_current(); !current) return current;
    if (auto healthy = status(); !healthy) return healthy;
    std::lock_guard lock(capture_mutex_);
    auto begun = context_->runtime->check(context_->hip().hipStreamBeginCapture(handle_, kCaptureModeThreadLocal),
                                          "hipStreamBeginCapture");
    if (!begun) return fail(std::move(begun.error()), fmt::format("capturing stream \"{}\"", name_));
    capture_.emplace();
    return {};
}

Result<std::shared_ptr<Graph>> HipStream::end_capture() {
    if (!capture_) return fail(ErrorCode::InvalidArgument, "stream \"{}\" is not being captured", name_);
    (void)context_->make_current();
    GraphHandle handle = nullptr;
    Capture capture;
    Result<void> ended;
    {
        std::lock_guard lock(capture_mutex_);
        ended = context_->runtime->check(context_->hip().hipStreamEndCapture(handle_, &handle), "hipStreamEndCapture");
        capture = std::move(*capture_);
        capture_.reset();
    }
    if (capture.error || !ended) {
        if (handle != nullptr) (void)context_->hip().hipGraphDestroy(handle);
        if (capture.error) return fail(std::move(*capture.error));
        return fail(std::move(ended.error()), fmt::format("capturing stream \"{}\"", name_));
    }
    auto graph = HipGraph::create(context_, handle, std::move(capture.events));
    if (!graph) return fail(std::move(graph.error()), fmt::format("capturing stream \"{}\"", name_));
    return std::shared_ptr<Graph>(std::move(*graph));
}

void HipStream::replay(Graph& graph) {
    if (capture_) return refuse_capture("the replay of a graph");
    if (skips()) return;
    auto* own = dynamic_cast<HipGraph*>(&graph);
    if (own == nullptr || &own->context() != context_.get())
        return stop(
            {ErrorCode::InvalidArgument, fmt::format("stream \"{}\": the graph belongs to another device", name_)});
    (void)context_->make_current();
    if (auto launched = own->launch(handle_); !launched)
        note(std::move(launched.error()),
             fmt::format("stream \"{}\" replaying a graph of {} nodes", name_, own->nodes()));
}

Result<void> HipStream::upload(std::byte* to, std::span<const std::byte> from) {
    if (capture_) refuse_capture("an upload");
    copy(to, from.data(), from.size());
    return synchronize();
}

Result<void> HipStream::read_back(std::span<std::byte> to, const std::byte* from) {
    if (capture_) refuse_capture("a read-back");
    copy(to.data(), from, to.size());
    return synchronize();
}

Result<void> HipStream::status() const {
    {
        std::lock_guard lock(capture_mutex_);
        if (!capture_) {
            (void)context_->make_current();
            const Status status = context_->hip().hipStreamQuery(handle_);
            if (status != Status::Success && status != Status::NotReady)
                note_late(context_->runtime->error(status, "hipStreamQuery"));
        }
    }
    std::lock_guard lock(errors_->mutex);
    if (errors_->first) return fail(*errors_->first);
    return {};
}

Result<void> HipStream::synchronize() {
    if (capture_) {
        refuse_capture("waiting for the stream");
        return fail(*capture_->error);
    }
    (void)context_->make_current();
    const Status status = context_->hip().hipStreamSynchronize(handle_);
    if (status != Status::Success) note_late(context_->runtime->error(status, "hipStreamSynchronize"));
    timelines_.clear();
    std::lock_guard lock(errors_->mutex);
    if (!errors_->first) return {};
    Error error = std::move(*errors_->first);
    errors_->first.reset();
    return fail(std::move(error));
}

/// An error of work that runs is reported by whatever call comes next: it may be about any pass since the last one.
void HipStream::note_late(Error error) const {
    std::lock_guard lock(errors_->mutex);
    if (errors_->first) return;
    const std::string& newest = errors_->newest_launch;
    error.message = newest.empty() ? fmt::format("stream \"{}\": {}", name_, error.message)
                                   : fmt::format("{} or a pass before it: {}", newest, error.message);
    errors_->first = std::move(error);
}

}  // namespace kinetograph::accel::hip
