#include <kinetograph/engine/accel/hip/context.hpp>

#include <kinetograph/engine/accel/hip/module.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace kinetograph::accel::hip {

namespace {

Capability unless(Capability capability, bool declined, std::string_view reason) {
    if (capability && declined) return {false, std::string(reason)};
    return capability;
}

/// Optional capabilities of the runtime and this device, each found by a query.
void probe(const Driver& hip, const DeviceProperties& properties, DeviceInfo& info) {
    info.can_load.available = true;
    info.can_capture =
        hip.has({&hip->hipStreamBeginCapture, &hip->hipStreamEndCapture, &hip->hipGraphInstantiate,
                 &hip->hipGraphGetNodes, &hip->hipGraphLaunch, &hip->hipGraphExecDestroy, &hip->hipGraphDestroy});
    info.can_time_graphs = hip.has(
        {&hip->hipStreamGetCaptureInfo_v2, &hip->hipStreamUpdateCaptureDependencies, &hip->hipGraphAddEventRecordNode});
    info.can_time_graphs = unless(info.can_time_graphs, !info.can_capture, info.can_capture.reason);
    info.can_import_host =
        unless(hip.has({&hip->hipHostRegister, &hip->hipHostUnregister}), properties.host_register_supported == 0,
               "the device reports hostRegisterSupported 0");
    info.can_import_memory = hip.has(
        {&hip->hipImportExternalMemory, &hip->hipExternalMemoryGetMappedBuffer, &hip->hipDestroyExternalMemory});
    info.can_import_timeline =
        unless(hip.has({&hip->hipImportExternalSemaphore, &hip->hipDestroyExternalSemaphore,
                        &hip->hipWaitExternalSemaphoresAsync, &hip->hipSignalExternalSemaphoresAsync}),
               properties.timeline_semaphore_interop == 0, "the device reports timelineSemaphoreInteropSupported 0");
}

gpu::CommonCalls<Status> common_calls(const EntryPoints& hip) {
    return {
        .memory_left = hip.hipMemGetInfo,
        .allocate_pinned = hip.hipHostMalloc,
        .release_pinned = hip.hipHostFree,
        .register_host = hip.hipHostRegister,
        .unregister_host = hip.hipHostUnregister,
        .release_memory = hip.hipDestroyExternalMemory,
        .release_semaphore = hip.hipDestroyExternalSemaphore,
        .wait_semaphores = hip.hipWaitExternalSemaphoresAsync,
        .signal_semaphores = hip.hipSignalExternalSemaphoresAsync,
        .create_stream = hip.hipStreamCreateWithFlags,
        .release_stream = hip.hipStreamDestroy,
        .query_stream = hip.hipStreamQuery,
        .synchronize_stream = hip.hipStreamSynchronize,
        .run_on_host = hip.hipLaunchHostFunc,
        .end_capture = hip.hipStreamEndCapture,
        .graph_nodes = hip.hipGraphGetNodes,
        .replay = hip.hipGraphLaunch,
        .release_graph = hip.hipGraphDestroy,
        .release_exec = hip.hipGraphExecDestroy,
        .create_event = hip.hipEventCreateWithFlags,
        .release_event = hip.hipEventDestroy,
        .query_event = hip.hipEventQuery,
        .synchronize_event = hip.hipEventSynchronize,
        .elapsed_time = hip.hipEventElapsedTime,
    };
}

}  // namespace

Result<DeviceInfo> Context::describe(const Driver& driver, std::uint32_t ordinal) {
    DeviceProperties properties{};
    KG_CHECK_IN(fmt::format("HIP device {}", ordinal),
                driver.call(driver->hipGetDevicePropertiesR0600, &properties, static_cast<int>(ordinal)));
    const auto text = [](const auto& field) { return std::string(field, strnlen(field, sizeof(field))); };
    DeviceInfo info;
    info.kind = kKind;
    info.name = text(properties.name);
    info.driver = driver.description();
    info.features = text(properties.architecture);
    info.architecture = info.features.substr(0, info.features.find(':'));
    std::copy(std::begin(properties.uuid), std::end(properties.uuid), info.uuid.begin());
    info.pci = PciAddress{.domain = static_cast<std::uint32_t>(properties.pci_domain),
                          .bus = static_cast<std::uint32_t>(properties.pci_bus),
                          .device = static_cast<std::uint32_t>(properties.pci_device)};
    info.memory_bytes = properties.total_global_bytes;
    info.compute_units = static_cast<std::uint32_t>(properties.compute_units);
    info.shared_bytes_per_block = static_cast<std::uint32_t>(properties.shared_bytes_per_block);
    probe(driver, properties, info);
    return info;
}

Result<std::shared_ptr<Context>> Context::create(std::shared_ptr<const Driver> driver, std::uint32_t ordinal,
                                                 DeviceInfo info) {
    const gpu::CommonCalls<Status> calls = common_calls(driver->entry_points());
    std::shared_ptr<Context> context(new Context(std::move(driver), calls, ordinal, std::move(info)));
    KG_CHECK_IN(context->info().name, context->make_current());
    return context;
}

Context::Context(std::shared_ptr<const Driver> driver, const gpu::CommonCalls<Status>& calls, std::uint32_t ordinal,
                 DeviceInfo info)
    : DriverContext(std::move(driver), calls, std::move(info)), ordinal_(static_cast<int>(ordinal)) {}

void Context::enter_thread() { (void)make_current(); }

Result<std::byte*> Context::allocate(std::uint64_t bytes) {
    KG_CHECK(make_current());
    void* device = nullptr;
    KG_CHECK(driver_->call(hip().hipMalloc, &device, bytes));
    return static_cast<std::byte*>(device);
}

void Context::release(std::byte* address) {
    {
        const Lock lock(mutex_);
        mapped_.erase(address);
    }
    (void)make_current();
    (void)hip().hipFree(address);
}

Result<std::byte*> Context::device_address(std::byte* host) {
    KG_CHECK(make_current());
    void* device = nullptr;
    KG_CHECK(driver_->call(hip().hipHostGetDevicePointer, &device, host, 0U));
    return static_cast<std::byte*>(device);
}

Result<void> Context::reach(const gpu::Context& other) {
    const auto* const peer = dynamic_cast<const Context*>(&other);
    if (peer == nullptr || peer->hip().hipInit.address() != hip().hipInit.address()) return gpu::Context::reach(other);
    if (peer->ordinal_ == ordinal_) return {};
    return reach_peer(hip().hipDeviceCanAccessPeer, hip().hipDeviceEnablePeerAccess, ordinal_, peer->ordinal_,
                      peer->ordinal_, 0U);
}

Result<void> Context::check_address(const std::byte* address) {
    const auto& ask = hip().hipPointerGetAttributes;
    if (!ask.present()) return {};
    {
        const Lock lock(mutex_);
        const auto next = mapped_.upper_bound(address);
        if (next != mapped_.begin() && address < std::prev(next)->first + std::prev(next)->second) return {};
    }
    KG_CHECK(make_current());
    PointerAttributes found{};
    const Status status = ask(&found, address);
    const bool is_unknown = status == Status::InvalidValue || found.type == kMemoryUnregistered;
    if (status != Status::Success && !is_unknown) return fail(driver_->error(status, ask.name()));
    if (!is_unknown && found.type != kMemoryDevice) return {};
    return check_owner(address, is_unknown ? std::nullopt : std::optional(found.device), ordinal_);
}

/// Unlike CUDA, HIP holds a reference of its own and leaves the descriptor to its caller.
Result<ExternalMemoryHandle> Context::import_memory(const ExternalMemoryDesc& desc) {
    KG_CHECK(make_current());
    ExternalMemoryHandleDesc handle_desc{};
    handle_desc.type = ExternalMemoryType::OpaqueFd;
    handle_desc.handle.fd = desc.fd;
    handle_desc.size = desc.bytes;
    handle_desc.flags = desc.dedicated ? kExternalMemoryDedicated : 0;
    ExternalMemoryHandle handle = nullptr;
    KG_CHECK(driver_->call(hip().hipImportExternalMemory, &handle, &handle_desc));
    return handle;
}

Result<std::byte*> Context::map(ExternalMemoryHandle memory, std::uint64_t bytes) {
    KG_CHECK(make_current());
    ExternalMemoryBufferDesc buffer{};
    buffer.size = bytes;
    void* device = nullptr;
    KG_CHECK(driver_->call(hip().hipExternalMemoryGetMappedBuffer, &device, memory, &buffer));
    auto* const address = static_cast<std::byte*>(device);
    const Lock lock(mutex_);
    mapped_[address] = bytes;
    return address;
}

/// In signal memory, which host and device see at one address.
Result<Context::Counter> Context::create_counter() {
    KG_CHECK(make_current());
    int waits = 0;
    KG_CHECK(driver_->call(hip().hipDeviceGetAttribute, &waits, kAttributeCanUseStreamWaitValue, ordinal_));
    if (waits == 0)
        return fail(ErrorCode::Unsupported,
                    "streams of {} cannot wait for values (hipDeviceAttributeCanUseStreamWaitValue is 0)", info().name);
    void* counter = nullptr;
    KG_CHECK(driver_->call(hip().hipExtMallocWithFlags, &counter, sizeof(std::uint64_t), kMallocSignalMemory));
    return Counter{.host = static_cast<std::byte*>(counter), .device = static_cast<std::byte*>(counter)};
}

void Context::release(const Counter& counter) { release(counter.device); }

Result<void> Context::wait(StreamHandle stream, const Counter& counter, std::uint64_t value) {
    constexpr std::uint64_t kAllBits = ~std::uint64_t{0};
    KG_CHECK(make_current());
    return driver_->call(hip().hipStreamWaitValue64, stream, counter.device, value, kStreamWaitValueGte, kAllBits);
}

Result<void> Context::signal(StreamHandle stream, const Counter& counter, std::uint64_t value) {
    (void)make_current();  // where that fails, so does the call, and the host signals
    return driver_->call(hip().hipStreamWriteValue64, stream, counter.device, value, 0U);
}

Result<ExternalSemaphoreHandle> Context::import_semaphore(int fd) {
    KG_CHECK(make_current());
    ExternalSemaphoreHandleDesc desc{};
    desc.type = ExternalSemaphoreType::TimelineSemaphoreFd;
    desc.handle.fd = fd;
    ExternalSemaphoreHandle semaphore = nullptr;
    KG_CHECK(driver_->call(hip().hipImportExternalSemaphore, &semaphore, &desc));
    ::close(fd);  // as for memory, HIP holds a reference of its own
    return semaphore;
}

Result<void> Context::launch(StreamHandle stream, const Launch& launch, FunctionHandle function) {
    if (launch.cluster != Extent3{})
        return fail(ErrorCode::Unsupported, "a cluster of {} x {} x {} blocks: HIP devices have no clusters",
                    launch.cluster.x, launch.cluster.y, launch.cluster.z);
    KG_CHECK(make_current());
    // The runtime copies the arguments, although its interface does not say const.
    std::size_t bytes = launch.arguments.size();
    void* extra[] = {kLaunchBufferPointer, const_cast<std::byte*>(launch.arguments.data()), kLaunchBufferSize, &bytes,
                     kLaunchEnd};
    return driver_->call(hip().hipModuleLaunchKernel, function, launch.grid.x, launch.grid.y, launch.grid.z,
                         launch.block.x, launch.block.y, launch.block.z, launch.dynamic_shared_bytes, stream, nullptr,
                         extra);
}

Result<void> Context::fill(StreamHandle stream, std::byte* address, std::byte value, std::uint64_t bytes) {
    (void)make_current();
    return driver_->call(hip().hipMemsetAsync, address, std::to_integer<int>(value), bytes, stream);
}

Result<void> Context::copy(StreamHandle stream, std::byte* to, const std::byte* from, std::uint64_t bytes) {
    KG_CHECK(make_current());
    return driver_->call(hip().hipMemcpyAsync, to, from, bytes, kMemcpyDefault, stream);
}

Result<bool> Context::is_capturing(StreamHandle stream) {
    if (!hip().hipStreamIsCapturing.present()) return false;
    KG_CHECK(make_current());
    int status = kCaptureStatusNone;
    KG_CHECK(driver_->call(hip().hipStreamIsCapturing, stream, &status));
    return status != kCaptureStatusNone;
}

Result<void> Context::begin_capture(StreamHandle stream) {
    KG_CHECK(make_current());
    return driver_->call(hip().hipStreamBeginCapture, stream, kCaptureModeThreadLocal);
}

Result<GraphExecHandle> Context::instantiate(GraphHandle graph, StreamHandle /*stream*/) {
    (void)make_current();
    GraphExecHandle exec = nullptr;
    KG_CHECK(driver_->call(hip().hipGraphInstantiate, &exec, graph, nullptr, nullptr, 0U));
    return exec;
}

Result<void> Context::record(StreamHandle stream, EventHandle event) {
    (void)make_current();
    return driver_->call(hip().hipEventRecord, event, stream);
}

/// hipEventRecord itself would only mark a place in the capture and stamp nothing: a node that does is added after
/// everything captured so far.
Result<void> Context::capture_record(StreamHandle stream, EventHandle event) {
    (void)make_current();
    int status = 0;
    unsigned long long id = 0;
    GraphHandle graph = nullptr;
    const GraphNodeHandle* dependencies = nullptr;
    std::size_t count = 0;
    const auto& ask = hip().hipStreamGetCaptureInfo_v2;
    KG_CHECK(driver_->call(ask, stream, &status, &id, &graph, &dependencies, &count));
    if (status != kCaptureStatusActive)
        return fail(ErrorCode::Unsupported, "{}: the capture has been invalidated", ask.name());
    GraphNodeHandle node = nullptr;
    KG_CHECK(driver_->call(hip().hipGraphAddEventRecordNode, &node, graph, dependencies, count, event));
    return driver_->call(hip().hipStreamUpdateCaptureDependencies, stream, &node, 1U, kSetCaptureDependencies);
}

Result<std::shared_ptr<Module>> Context::load(std::shared_ptr<gpu::Context> self, std::string_view name,
                                              std::span<const std::byte> image) {
    return HipModule::load(std::static_pointer_cast<Context>(std::move(self)), name, image);
}

}  // namespace kinetograph::accel::hip
