#include <kinetograph/engine/accel/cuda/context.hpp>

#include <kinetograph/engine/accel/cuda/module.hpp>
#include <kinetograph/engine/accel/cuda/resident_clusters.hpp>
#include <kinetograph/engine/base/descriptors.hpp>

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace kinetograph::accel::cuda {

namespace {

std::byte* to_pointer(DeviceAddress address) { return reinterpret_cast<std::byte*>(address); }
DeviceAddress address_of(const std::byte* pointer) { return reinterpret_cast<DeviceAddress>(pointer); }

/// Queries properties of a device; keeps the first error.
class Questions {
  public:
    Questions(const Driver& driver, DeviceOrdinal device) : driver_(driver), device_(device) {}

    std::uint32_t attribute(DeviceAttribute attribute) {
        int value = 0;
        ask(driver_->cuDeviceGetAttribute, &value, attribute, device_);
        return static_cast<std::uint32_t>(value);
    }
    std::string name() {
        std::array<char, 256> name{};
        ask(driver_->cuDeviceGetName, name.data(), static_cast<int>(name.size()), device_);
        return {name.data(), ::strnlen(name.data(), name.size())};
    }
    std::array<std::uint8_t, 16> uuid() {
        Uuid uuid{};
        ask(driver_->cuDeviceGetUuid_v2, &uuid, device_);
        return std::to_array(uuid.bytes);
    }
    std::uint64_t memory_bytes() {
        std::size_t bytes = 0;
        ask(driver_->cuDeviceTotalMem_v2, &bytes, device_);
        return bytes;
    }
    const std::optional<Error>& error() const { return error_; }

  private:
    template <class Call, class... Arguments>
    void ask(const Call& entry_point, Arguments... arguments) {
        if (error_) return;
        if (auto asked = driver_.call(entry_point, arguments...); !asked) error_ = std::move(asked.error());
    }

    const Driver& driver_;
    DeviceOrdinal device_;
    std::optional<Error> error_;
};

Capability where(bool available, std::string_view reason) {
    return {available, available ? std::string() : std::string(reason)};
}

gpu::CommonCalls<Status> common_calls(const EntryPoints& cuda) {
    return {
        .memory_left = cuda.cuMemGetInfo_v2,
        .allocate_pinned = cuda.cuMemHostAlloc,
        .release_pinned = cuda.cuMemFreeHost,
        .register_host = cuda.cuMemHostRegister_v2,
        .unregister_host = cuda.cuMemHostUnregister,
        .release_memory = cuda.cuDestroyExternalMemory,
        .release_semaphore = cuda.cuDestroyExternalSemaphore,
        .wait_semaphores = cuda.cuWaitExternalSemaphoresAsync,
        .signal_semaphores = cuda.cuSignalExternalSemaphoresAsync,
        .create_stream = cuda.cuStreamCreate,
        .release_stream = cuda.cuStreamDestroy_v2,
        .query_stream = cuda.cuStreamQuery,
        .synchronize_stream = cuda.cuStreamSynchronize,
        .run_on_host = cuda.cuLaunchHostFunc,
        .end_capture = cuda.cuStreamEndCapture,
        .graph_nodes = cuda.cuGraphGetNodes,
        .replay = cuda.cuGraphLaunch,
        .release_graph = cuda.cuGraphDestroy,
        .release_exec = cuda.cuGraphExecDestroy,
        .create_event = cuda.cuEventCreate,
        .release_event = cuda.cuEventDestroy_v2,
        .query_event = cuda.cuEventQuery,
        .synchronize_event = cuda.cuEventSynchronize,
        .elapsed_time = cuda.cuEventElapsedTime_v1,
    };
}

}  // namespace

Result<DeviceInfo> Context::describe(const Driver& driver, std::uint32_t ordinal) {
    DeviceOrdinal device = 0;
    KG_CHECK_IN(fmt::format("CUDA device {}", ordinal),
                driver.call(driver->cuDeviceGet, &device, static_cast<int>(ordinal)));
    Questions ask(driver, device);
    DeviceInfo info;
    info.kind = kKind;
    info.name = ask.name();
    info.driver = driver.description();
    info.architecture = fmt::format("sm_{}{}", ask.attribute(DeviceAttribute::ComputeCapabilityMajor),
                                    ask.attribute(DeviceAttribute::ComputeCapabilityMinor));
    info.features = info.architecture;
    info.uuid = ask.uuid();
    info.pci = PciAddress{.domain = ask.attribute(DeviceAttribute::PciDomain),
                          .bus = ask.attribute(DeviceAttribute::PciBus),
                          .device = ask.attribute(DeviceAttribute::PciDevice)};
    info.memory_bytes = ask.memory_bytes();
    info.compute_units = ask.attribute(DeviceAttribute::MultiprocessorCount);
    info.shared_bytes_per_block = ask.attribute(DeviceAttribute::MaxSharedBytesPerBlockOptin);
    info.can_load = info.can_capture = info.can_time_graphs = info.can_import_memory = where(true, {});
    info.can_import_host = where(ask.attribute(DeviceAttribute::HostRegisterSupported) != 0,
                                 "the device reports CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED 0");
    info.can_import_timeline = where(ask.attribute(DeviceAttribute::TimelineSemaphoreInteropSupported) != 0,
                                     "the device reports CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED 0");
    if (ask.error()) return fail(*ask.error(), fmt::format("CUDA device {}", ordinal));
    return info;
}

Result<std::shared_ptr<Context>> Context::create(std::shared_ptr<const Driver> driver, std::uint32_t ordinal,
                                                 DeviceInfo info) {
    DeviceOrdinal device = 0;
    KG_CHECK(driver->call((*driver)->cuDeviceGet, &device, static_cast<int>(ordinal)));
    const gpu::CommonCalls<Status> calls = common_calls(driver->entry_points());
    std::shared_ptr<Context> context(new Context(std::move(driver), calls, device, std::move(info)));
    KG_CHECK_IN(context->info().name,
                context->driver().call(context->cuda().cuDevicePrimaryCtxRetain, &context->handle_, context->device_));
    const auto has = [&](DeviceAttribute attribute) {
        int value = 0;
        return context->cuda().cuDeviceGetAttribute(&value, attribute, context->device_) == Status::Success &&
               value != 0;
    };
    context->has_clusters_ = has(DeviceAttribute::ClusterLaunch);
    context->has_tensor_maps_ = has(DeviceAttribute::TensorMapAccessSupported);
    context->described().resident_clusters = query_resident_clusters(*context);
    return context;
}

Context::Context(std::shared_ptr<const Driver> driver, const gpu::CommonCalls<Status>& calls, DeviceOrdinal device,
                 DeviceInfo info)
    : DriverContext(std::move(driver), calls, std::move(info)), device_(device) {}

Context::~Context() {
    if (handle_ != nullptr) (void)cuda().cuDevicePrimaryCtxRelease_v2(device_);
}

Result<void> Context::check_adopted(StreamHandle stream) const {
    const Current current(*this);
    ContextHandle owner = nullptr;
    KG_CHECK(driver_->call(cuda().cuStreamGetCtx, stream, &owner));
    if (owner != handle_)
        return fail(ErrorCode::InvalidArgument, "it does not belong to the primary context of {}", info().name);
    return {};
}

void Context::enter_thread() {
    (void)cuda().cuCtxPushCurrent_v2(handle_);
    CaptureMode mode = CaptureMode::Relaxed;
    (void)cuda().cuThreadExchangeStreamCaptureMode(&mode);
}

Result<std::byte*> Context::allocate(std::uint64_t bytes) {
    const CurrentUncaptured current(*this);
    DeviceAddress device = 0;
    KG_CHECK(driver_->call(cuda().cuMemAlloc_v2, &device, bytes));
    return to_pointer(device);
}

void Context::release(std::byte* address) {
    const CurrentUncaptured current(*this);
    (void)cuda().cuMemFree_v2(address_of(address));
}

Result<std::byte*> Context::device_address(std::byte* host) {
    const CurrentUncaptured current(*this);
    DeviceAddress device = 0;
    KG_CHECK(driver_->call(cuda().cuMemHostGetDevicePointer_v2, &device, host, 0U));
    return to_pointer(device);
}

Result<void> Context::check_address(const std::byte* address) {
    const CurrentUncaptured current(*this);
    MemoryType type = MemoryType::None;
    std::uint32_t is_managed = 0;
    int owner = 0;
    std::array attributes{PointerAttribute::MemoryType, PointerAttribute::IsManaged, PointerAttribute::DeviceOrdinal};
    std::array<void*, attributes.size()> values{&type, &is_managed, &owner};
    KG_CHECK(driver_->call(cuda().cuPointerGetAttributes, static_cast<unsigned>(attributes.size()), attributes.data(),
                           values.data(), address_of(address)));
    if (is_managed != 0 || type == MemoryType::Host) return {};
    return check_owner(address, type == MemoryType::Device ? std::optional(owner) : std::nullopt, device_);
}

/// Contexts of one device are one, its primary context.
Result<void> Context::reach(const gpu::Context& other) {
    const auto* const peer = dynamic_cast<const Context*>(&other);
    if (peer == nullptr || peer->counters() != counters()) return gpu::Context::reach(other);
    if (peer->handle_ == handle_) return {};
    return reach_peer(cuda().cuDeviceCanAccessPeer, cuda().cuCtxEnablePeerAccess, device_, peer->device_, peer->handle_,
                      0U);
}

/// CUDA takes ownership of the descriptor that it imports, HIP does not: to treat both alike, CUDA gets a duplicate.
Result<ExternalMemoryHandle> Context::import_memory(const ExternalMemoryDesc& desc) {
    const CurrentUncaptured current(*this);
    const int own_fd = above_stdio(::dup(desc.fd));
    if (own_fd < 0)
        return fail(ErrorCode::InvalidArgument, "descriptor {} cannot be duplicated ({})", desc.fd,
                    std::strerror(errno));
    ExternalMemoryHandleDesc handle_desc{};
    handle_desc.type = ExternalMemoryType::OpaqueFd;
    handle_desc.handle.fd = own_fd;
    handle_desc.size = desc.bytes;
    handle_desc.flags = desc.dedicated ? kExternalMemoryDedicated : 0;
    ExternalMemoryHandle handle = nullptr;
    auto made = driver_->call(cuda().cuImportExternalMemory, &handle, &handle_desc);
    if (made) return handle;
    ::close(own_fd);
    return fail(std::move(made.error()));
}

Result<std::byte*> Context::map(ExternalMemoryHandle memory, std::uint64_t bytes) {
    const CurrentUncaptured current(*this);
    ExternalMemoryBufferDesc buffer{};
    buffer.size = bytes;
    DeviceAddress device = 0;
    KG_CHECK(driver_->call(cuda().cuExternalMemoryGetMappedBuffer, &device, memory, &buffer));
    return to_pointer(device);
}

/// The counter lies in pinned memory.
Result<Context::Counter> Context::create_counter() {
    int waits = 0;
    KG_CHECK(driver_->call(cuda().cuDeviceGetAttribute, &waits, DeviceAttribute::CanUse64BitStreamMemOps, device_));
    if (waits == 0)
        return fail(ErrorCode::Unsupported,
                    "streams of {} cannot wait for values (CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS is 0)",
                    info().name);
    KG_TRY(std::byte * host, allocate_pinned(sizeof(std::uint64_t)));
    auto device = device_address(host);
    if (device) return Counter{.host = host, .device = *device};
    release_pinned(host);
    return fail(std::move(device.error()));
}

void Context::release(const Counter& counter) { release_pinned(counter.host); }

Result<void> Context::wait(StreamHandle stream, const Counter& counter, std::uint64_t value) {
    const Current current(*this);
    return driver_->call(cuda().cuStreamWaitValue64_v2, stream, address_of(counter.device), value, kStreamWaitValueGeq);
}

Result<void> Context::signal(StreamHandle stream, const Counter& counter, std::uint64_t value) {
    const Current current(*this);
    return driver_->call(cuda().cuStreamWriteValue64_v2, stream, address_of(counter.device), value,
                         kStreamWriteValueDefault);
}

Result<ExternalSemaphoreHandle> Context::import_semaphore(int fd) {
    const CurrentUncaptured current(*this);
    ExternalSemaphoreHandleDesc desc{};
    desc.type = ExternalSemaphoreType::TimelineSemaphoreFd;
    desc.handle.fd = fd;  // the driver's own once imported
    ExternalSemaphoreHandle semaphore = nullptr;
    KG_CHECK(driver_->call(cuda().cuImportExternalSemaphore, &semaphore, &desc));
    return semaphore;
}

Result<void> Context::check_cluster(const Launch& launch) const {
    const Extent3 &grid = launch.grid, &cluster = launch.cluster;
    if (!has_clusters_)
        return fail(ErrorCode::Unsupported, "a cluster of {} x {} x {} blocks: {} devices have no clusters", cluster.x,
                    cluster.y, cluster.z, info().architecture);
    if (cluster.volume() == 0 || grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0)
        return fail(ErrorCode::InvalidArgument,
                    "a grid of {} x {} x {} blocks does not divide into clusters of {} x {} x {}", grid.x, grid.y,
                    grid.z, cluster.x, cluster.y, cluster.z);
    return {};
}

Result<void> Context::launch(StreamHandle stream, const Launch& launch, FunctionHandle function) {
    const std::uint64_t shared_bytes =
        std::uint64_t{launch.kernel.info().static_shared_bytes} + launch.dynamic_shared_bytes;
    if (shared_bytes > info().shared_bytes_per_block)
        return fail(ErrorCode::InvalidArgument, "a block with {} bytes of shared memory, {} has {}", shared_bytes,
                    info().name, info().shared_bytes_per_block);
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
                              .stream = stream,
                              .attributes = &attribute,
                              .attribute_count = clusters ? 1U : 0U};
    // The one parameter by its address: in a buffer of all parameters, a struct with tensor maps would not begin at 0.
    // The driver copies it, although its interface does not say const.
    void* parameter = const_cast<std::byte*>(launch.arguments.data());
    const Current current(*this);
    return driver_->call(cuda().cuLaunchKernelEx, &config, function, &parameter, nullptr);
}

Result<void> Context::fill(StreamHandle stream, std::byte* address, std::byte value, std::uint64_t bytes) {
    const Current current(*this);
    return driver_->call(cuda().cuMemsetD8Async, address_of(address), std::to_integer<unsigned char>(value), bytes,
                         stream);
}

Result<void> Context::copy(StreamHandle stream, std::byte* to, const std::byte* from, std::uint64_t bytes) {
    const Current current(*this);
    return driver_->call(cuda().cuMemcpyAsync, address_of(to), address_of(from), bytes, stream);
}

Result<bool> Context::is_capturing(StreamHandle stream) {
    const Current current(*this);
    CaptureStatus status = CaptureStatus::None;
    const Status answer = cuda().cuStreamIsCapturing(stream, &status);
    // The answer for the default stream while another stream is in a capture that work on the default one would break.
    if (answer == Status::StreamCaptureImplicit) return true;
    if (answer != Status::Success) return fail(driver_->error(answer, cuda().cuStreamIsCapturing.name()));
    return status != CaptureStatus::None;
}

Result<void> Context::begin_capture(StreamHandle stream) {
    const Current current(*this);
    return driver_->call(cuda().cuStreamBeginCapture_v2, stream, CaptureMode::ThreadLocal);
}

Result<GraphExecHandle> Context::instantiate(GraphHandle graph, StreamHandle stream) {
    const CurrentUncaptured current(*this);
    GraphExecHandle exec = nullptr;
    KG_CHECK(driver_->call(cuda().cuGraphInstantiateWithFlags, &exec, graph, 0ULL));
    auto uploaded = driver_->call(cuda().cuGraphUpload, exec, stream);
    if (uploaded) return exec;
    (void)cuda().cuGraphExecDestroy(exec);
    return fail(std::move(uploaded.error()));
}

Result<void> Context::record(StreamHandle stream, EventHandle event) {
    const Current current(*this);
    return driver_->call(cuda().cuEventRecordWithFlags, event, stream, kEventRecordDefault);
}

Result<void> Context::capture_record(StreamHandle stream, EventHandle event) {
    const Current current(*this);
    return driver_->call(cuda().cuEventRecordWithFlags, event, stream, kEventRecordExternal);
}

Result<std::shared_ptr<Module>> Context::load(std::shared_ptr<gpu::Context> self, std::string_view name,
                                              std::span<const std::byte> image) {
    return CudaModule::load(std::static_pointer_cast<Context>(std::move(self)), name, image);
}

// A context that cannot be made current is lost: the next call reports it.
Current::Current(const Context& context) : context_(context) {
    ContextHandle before = nullptr;
    if (context_.cuda().cuCtxGetCurrent(&before) == Status::Success && before == context_.handle()) return;
    pushed_ = context_.cuda().cuCtxPushCurrent_v2(context_.handle()) == Status::Success;
}

Current::~Current() {
    ContextHandle ours = nullptr;
    if (pushed_) (void)context_.cuda().cuCtxPopCurrent_v2(&ours);
}

CurrentUncaptured::CurrentUncaptured(const Context& context) : current_(context), context_(context) {
    (void)context_.cuda().cuThreadExchangeStreamCaptureMode(&mode_);
}

CurrentUncaptured::~CurrentUncaptured() { (void)context_.cuda().cuThreadExchangeStreamCaptureMode(&mode_); }

}  // namespace kinetograph::accel::cuda
