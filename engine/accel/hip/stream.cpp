#include <kinetograph/engine/accel/hip/stream.hpp>

#include <kinetograph/engine/accel/hip/graph.hpp>
#include <kinetograph/engine/accel/hip/module.hpp>
#include <kinetograph/engine/accel/hip/timeline.hpp>

namespace kinetograph::accel::hip {

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
    abandon_capture();
    (void)context_->make_current();
    (void)context_->hip().hipStreamSynchronize(handle_);  // its error has no caller to return to
    (void)context_->hip().hipStreamDestroy(handle_);
}

bool HipStream::owns(const Kernel& kernel) const {
    const auto* own = dynamic_cast<const HipKernel*>(&kernel);
    return own != nullptr && &own->module().context() == context_.get();
}

bool HipStream::owns(const Timeline& timeline) const {
    const auto* own = dynamic_cast<const StreamTimeline*>(&timeline);
    return own != nullptr && &own->context() == context_.get();
}

bool HipStream::owns(const Graph& graph) const {
    const auto* own = dynamic_cast<const HipGraph*>(&graph);
    return own != nullptr && &own->context() == context_.get();
}

bool HipStream::owns(const DriverEvent& event) const {
    const auto* own = dynamic_cast<const HipEvent*>(&event);
    return own != nullptr && &own->context() == context_.get();
}

Result<void> HipStream::enqueue_host_function(HostFunction function, void* user_data) {
    (void)context_->make_current();
    return context_->runtime->check(context_->hip().hipLaunchHostFunc(handle_, function, user_data),
                                    "hipLaunchHostFunc");
}

Result<void> HipStream::enqueue_kernel(const Launch& launch) {
    if (launch.cluster != Extent3{})
        return fail(ErrorCode::Unsupported, "a cluster of {} x {} x {} blocks: HIP devices have no clusters",
                    launch.cluster.x, launch.cluster.y, launch.cluster.z);
    KG_CHECK(context_->make_current());
    // The runtime copies the arguments; its interface only forgot the const.
    std::size_t bytes = launch.arguments.size();
    void* extra[] = {kLaunchBufferPointer, const_cast<std::byte*>(launch.arguments.data()), kLaunchBufferSize, &bytes,
                     kLaunchEnd};
    return context_->runtime->check(
        context_->hip().hipModuleLaunchKernel(static_cast<const HipKernel&>(launch.kernel).function(), launch.grid.x,
                                              launch.grid.y, launch.grid.z, launch.block.x, launch.block.y,
                                              launch.block.z, launch.dynamic_shared_bytes, handle_, nullptr, extra),
        "hipModuleLaunchKernel");
}

Result<void> HipStream::enqueue_fill(std::byte* address, std::byte value, std::uint64_t bytes) {
    (void)context_->make_current();
    return context_->runtime->check(
        context_->hip().hipMemsetAsync(address, std::to_integer<int>(value), bytes, handle_), "hipMemsetAsync");
}

Result<void> HipStream::enqueue_copy(void* to, const void* from, std::uint64_t bytes) {
    KG_CHECK(context_->make_current());
    return context_->runtime->check(context_->hip().hipMemcpyAsync(to, from, bytes, kMemcpyDefault, handle_),
                                    "hipMemcpyAsync");
}

Result<void> HipStream::enqueue_wait(Timeline& timeline, std::uint64_t value) {
    KG_CHECK(context_->make_current());
    return static_cast<StreamTimeline&>(timeline).enqueue_wait(handle_, value);
}

Result<void> HipStream::enqueue_signal(Timeline& timeline, std::uint64_t value) {
    (void)context_->make_current();  // where that fails, so does the call, and the host signals
    return static_cast<StreamTimeline&>(timeline).enqueue_signal(handle_, value);
}

Result<void> HipStream::enqueue_record(DriverEvent& event) {
    (void)context_->make_current();
    return context_->runtime->check(context_->hip().hipEventRecord(static_cast<HipEvent&>(event).handle(), handle_),
                                    "hipEventRecord");
}

Result<void> HipStream::capture_record(DriverEvent& event) {
    (void)context_->make_current();
    return capture_event(*context_, handle_, static_cast<HipEvent&>(event));
}

Result<void> HipStream::enqueue_graph(DriverGraph& graph) {
    (void)context_->make_current();
    return context_->runtime->check(context_->hip().hipGraphLaunch(static_cast<HipGraph&>(graph).handle(), handle_),
                                    "hipGraphLaunch");
}

Result<void> HipStream::start_capture() {
    KG_CHECK(context_->make_current());
    return context_->runtime->check(context_->hip().hipStreamBeginCapture(handle_, kCaptureModeThreadLocal),
                                    "hipStreamBeginCapture");
}

Result<std::unique_ptr<CapturedWork>> HipStream::finish_capture() {
    (void)context_->make_current();
    GraphHandle graph = nullptr;
    if (auto ended =
            context_->runtime->check(context_->hip().hipStreamEndCapture(handle_, &graph), "hipStreamEndCapture");
        !ended) {
        if (graph != nullptr) (void)context_->hip().hipGraphDestroy(graph);
        return fail(std::move(ended.error()));
    }
    return std::make_unique<HipCapture>(context_, graph);
}

Result<bool> HipStream::query() const {
    (void)context_->make_current();
    const Status status = context_->hip().hipStreamQuery(handle_);
    if (status == Status::Success || status == Status::NotReady) return status == Status::Success;
    return fail(context_->runtime->error(status, "hipStreamQuery"));
}

Result<void> HipStream::block() {
    (void)context_->make_current();
    return context_->runtime->check(context_->hip().hipStreamSynchronize(handle_), "hipStreamSynchronize");
}

}  // namespace kinetograph::accel::hip
