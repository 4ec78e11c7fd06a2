#include <kinetograph/engine/accel/cuda/stream.hpp>

#include <kinetograph/engine/accel/cuda/event.hpp>
#include <kinetograph/engine/accel/cuda/graph.hpp>
#include <kinetograph/engine/accel/cuda/module.hpp>
#include <kinetograph/engine/accel/cuda/timeline.hpp>

namespace kinetograph::accel::cuda {

Result<std::unique_ptr<CudaStream>> CudaStream::create(std::shared_ptr<Context> context, std::string_view name) {
    const CurrentUncaptured current(*context);
    const Driver& driver = context->driver();
    StreamHandle handle = nullptr;
    if (auto made = driver.call(driver->cuStreamCreate, &handle, kStreamNonBlocking); !made)
        return fail(std::move(made.error()), fmt::format("stream \"{}\"", name));
    return std::unique_ptr<CudaStream>(new CudaStream(std::move(context), name, handle, Ownership::Ours));
}

Result<std::unique_ptr<CudaStream>> CudaStream::adopt(std::shared_ptr<Context> context, std::string_view name,
                                                      StreamHandle handle) {
    const std::string what = fmt::format("adopting stream \"{}\"", name);
    const Current current(*context);
    const Driver& driver = context->driver();
    ContextHandle owner = nullptr;
    if (auto asked = driver.call(driver->cuStreamGetCtx, handle, &owner); !asked)
        return fail(std::move(asked.error()), what);
    if (owner != context->handle())
        return fail(ErrorCode::InvalidArgument, "{}: it does not belong to the primary context of {}", what,
                    context->info().name);
    return std::unique_ptr<CudaStream>(new CudaStream(std::move(context), name, handle, Ownership::Callers));
}

CudaStream::~CudaStream() {
    abandon_capture();
    const CurrentUncaptured current(*context_);
    (void)context_->cuda().cuStreamSynchronize(handle_);  // its error has no caller to return to
    if (ownership_ == Ownership::Ours) (void)context_->cuda().cuStreamDestroy_v2(handle_);
}

bool CudaStream::owns(const Kernel& kernel) const {
    const auto* own = dynamic_cast<const CudaKernel*>(&kernel);
    return own != nullptr && &own->module().context() == context_.get();
}

bool CudaStream::owns(const Timeline& timeline) const {
    const auto* own = dynamic_cast<const StreamTimeline*>(&timeline);
    return own != nullptr && &own->context() == context_.get();
}

bool CudaStream::owns(const Graph& graph) const {
    const auto* own = dynamic_cast<const CudaGraph*>(&graph);
    return own != nullptr && &own->context() == context_.get();
}

bool CudaStream::owns(const DriverEvent& event) const {
    const auto* own = dynamic_cast<const CudaEvent*>(&event);
    return own != nullptr && &own->context() == context_.get();
}

Result<void> CudaStream::enqueue_host_function(HostFunction function, void* user_data) {
    const Current current(*context_);
    const Driver& driver = context_->driver();
    return driver.call(driver->cuLaunchHostFunc, handle_, function, user_data);
}

Result<void> CudaStream::check_cluster(const Launch& launch) const {
    const Extent3 &grid = launch.grid, &cluster = launch.cluster;
    if (!context_->has_clusters())
        return fail(ErrorCode::Unsupported, "a cluster of {} x {} x {} blocks: {} devices have no clusters", cluster.x,
                    cluster.y, cluster.z, context_->info().architecture);
    if (cluster.volume() == 0 || grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0)
        return fail(ErrorCode::InvalidArgument,
                    "a grid of {} x {} x {} blocks does not divide into clusters of {} x {} x {}", grid.x, grid.y,
                    grid.z, cluster.x, cluster.y, cluster.z);
    return {};
}

Result<void> CudaStream::enqueue_kernel(const Launch& launch) {
    const auto& kernel = static_cast<const CudaKernel&>(launch.kernel);
    const std::uint64_t shared_bytes = std::uint64_t{kernel.info().static_shared_bytes} + launch.dynamic_shared_bytes;
    if (shared_bytes > context_->info().shared_bytes_per_block)
        return fail(ErrorCode::InvalidArgument, "a block with {} bytes of shared memory, {} has {}", shared_bytes,
                    context_->info().name, context_->info().shared_bytes_per_block);
    LaunchAttribute attribute{};
    const bool clusters = launch.cluster != Extent3{};
    if (clusters) {
        KG_CHECK(check_cluster(launch));
        attribute.id = LaunchAttributeId::ClusterDimension;
        attribute.cluster = {launch.cluster.x, launch.cluster.y, launch.cluster.z};
    }
    const LaunchConfig config{.grid_x = launch.grid.x,
                              .grid_y = launch.grid.y,
                              .grid_z = launch.grid.z,
                              .block_x = launch.block.x,
                              .block_y = launch.block.y,
                              .block_z = launch.block.z,
                              .dynamic_shared_bytes = launch.dynamic_shared_bytes,
                              .stream = handle_,
                              .attributes = &attribute,
                              .attribute_count = clusters ? 1U : 0U};
    // The one parameter by its address: in a buffer of all parameters, a struct with tensor maps would not begin at 0.
    // The driver copies it; its interface only forgot the const.
    void* parameter = const_cast<std::byte*>(launch.arguments.data());
    const Current current(*context_);
    const Driver& driver = context_->driver();
    return driver.call(driver->cuLaunchKernelEx, &config, kernel.function(), &parameter, nullptr);
}

Result<void> CudaStream::enqueue_fill(std::byte* address, std::byte value, std::uint64_t bytes) {
    const Current current(*context_);
    const Driver& driver = context_->driver();
    return driver.call(driver->cuMemsetD8Async, device_address(address), std::to_integer<unsigned char>(value), bytes,
                       handle_);
}

Result<void> CudaStream::enqueue_copy(void* to, const void* from, std::uint64_t bytes) {
    const Current current(*context_);
    const Driver& driver = context_->driver();
    return driver.call(driver->cuMemcpyAsync, device_address(to), device_address(from), bytes, handle_);
}

Result<void> CudaStream::enqueue_wait(Timeline& timeline, std::uint64_t value) {
    const Current current(*context_);
    return static_cast<StreamTimeline&>(timeline).enqueue_wait(handle_, value);
}

Result<void> CudaStream::enqueue_signal(Timeline& timeline, std::uint64_t value) {
    const Current current(*context_);
    return static_cast<StreamTimeline&>(timeline).enqueue_signal(handle_, value);
}

Result<void> CudaStream::enqueue_record(DriverEvent& event) {
    const Current current(*context_);
    const Driver& driver = context_->driver();
    return driver.call(driver->cuEventRecordWithFlags, static_cast<CudaEvent&>(event).handle(), handle_,
                       kEventRecordDefault);
}

Result<void> CudaStream::capture_record(DriverEvent& event) {
    const Current current(*context_);
    const Driver& driver = context_->driver();
    return driver.call(driver->cuEventRecordWithFlags, static_cast<CudaEvent&>(event).handle(), handle_,
                       kEventRecordExternal);
}

Result<void> CudaStream::enqueue_graph(DriverGraph& graph) {
    const Current current(*context_);
    const Driver& driver = context_->driver();
    return driver.call(driver->cuGraphLaunch, static_cast<CudaGraph&>(graph).handle(), handle_);
}

Result<void> CudaStream::start_capture() {
    const Current current(*context_);
    const Driver& driver = context_->driver();
    return driver.call(driver->cuStreamBeginCapture_v2, handle_, CaptureMode::ThreadLocal);
}

Result<std::unique_ptr<CapturedWork>> CudaStream::finish_capture() {
    const Current current(*context_);
    const Driver& driver = context_->driver();
    GraphHandle graph = nullptr;
    if (auto ended = driver.call(driver->cuStreamEndCapture, handle_, &graph); !ended) {
        if (graph != nullptr) (void)driver->cuGraphDestroy(graph);
        return fail(std::move(ended.error()));
    }
    return std::make_unique<CudaCapture>(context_, graph, handle_);
}

Result<bool> CudaStream::query() const {
    const CurrentUncaptured current(*context_);
    const Driver& driver = context_->driver();
    const Status status = driver->cuStreamQuery(handle_);
    if (status == Status::Success || status == Status::NotReady) return status == Status::Success;
    return fail(driver.error(status, "cuStreamQuery"));
}

Result<void> CudaStream::block() {
    const CurrentUncaptured current(*context_);
    const Driver& driver = context_->driver();
    return driver.call(driver->cuStreamSynchronize, handle_);
}

}  // namespace kinetograph::accel::cuda
