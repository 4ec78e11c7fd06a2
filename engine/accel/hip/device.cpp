#include <kinetograph/engine/accel/hip/device.hpp>

#include <kinetograph/engine/accel/hip/event.hpp>
#include <kinetograph/engine/accel/hip/memory.hpp>
#include <kinetograph/engine/accel/hip/module.hpp>
#include <kinetograph/engine/accel/hip/stream.hpp>
#include <kinetograph/engine/accel/hip/timeline.hpp>

#include <algorithm>
#include <cstring>

namespace kinetograph::accel::hip {

namespace {

Capability unless(Capability capability, bool declined, std::string_view reason) {
    if (capability && declined) return {false, std::string(reason)};
    return capability;
}

/// What the runtime and this device can do beyond the basics, each found by asking.
void probe(const Runtime& hip, const DeviceProperties& properties, DeviceInfo& info) {
    info.can_load.available = true;
    info.can_capture = hip.has({{"hipStreamBeginCapture", hip->hipStreamBeginCapture != nullptr},
                                {"hipStreamEndCapture", hip->hipStreamEndCapture != nullptr},
                                {"hipGraphInstantiate", hip->hipGraphInstantiate != nullptr},
                                {"hipGraphGetNodes", hip->hipGraphGetNodes != nullptr},
                                {"hipGraphLaunch", hip->hipGraphLaunch != nullptr},
                                {"hipGraphExecDestroy", hip->hipGraphExecDestroy != nullptr},
                                {"hipGraphDestroy", hip->hipGraphDestroy != nullptr}});
    info.can_time_graphs =
        hip.has({{"hipStreamGetCaptureInfo_v2", hip->hipStreamGetCaptureInfo_v2 != nullptr},
                 {"hipStreamUpdateCaptureDependencies", hip->hipStreamUpdateCaptureDependencies != nullptr},
                 {"hipGraphAddEventRecordNode", hip->hipGraphAddEventRecordNode != nullptr}});
    info.can_time_graphs = unless(info.can_time_graphs, !info.can_capture, info.can_capture.reason);
    info.can_import_host =
        unless(hip.has({{"hipHostRegister", hip->hipHostRegister != nullptr},
                        {"hipHostUnregister", hip->hipHostUnregister != nullptr}}),
               properties.host_register_supported == 0, "the device reports hostRegisterSupported 0");
    info.can_import_memory =
        hip.has({{"hipImportExternalMemory", hip->hipImportExternalMemory != nullptr},
                 {"hipExternalMemoryGetMappedBuffer", hip->hipExternalMemoryGetMappedBuffer != nullptr},
                 {"hipDestroyExternalMemory", hip->hipDestroyExternalMemory != nullptr}});
    info.can_import_timeline =
        unless(hip.has({{"hipImportExternalSemaphore", hip->hipImportExternalSemaphore != nullptr},
                        {"hipDestroyExternalSemaphore", hip->hipDestroyExternalSemaphore != nullptr},
                        {"hipWaitExternalSemaphoresAsync", hip->hipWaitExternalSemaphoresAsync != nullptr},
                        {"hipSignalExternalSemaphoresAsync", hip->hipSignalExternalSemaphoresAsync != nullptr}}),
               properties.timeline_semaphore_interop == 0, "the device reports timelineSemaphoreInteropSupported 0");
}

Result<DeviceInfo> describe(const Runtime& hip, int ordinal) {
    DeviceProperties properties{};
    if (auto asked = hip.check(hip->hipGetDevicePropertiesR0600(&properties, ordinal), "hipGetDeviceProperties");
        !asked)
        return fail(std::move(asked.error()), fmt::format("HIP device {}", ordinal));
    const auto text = [](const auto& field) { return std::string(field, strnlen(field, sizeof(field))); };
    DeviceInfo info;
    info.kind = Kind::Hip;
    info.name = text(properties.name);
    info.driver = hip.description();
    info.features = text(properties.architecture);
    info.architecture = info.features.substr(0, info.features.find(':'));
    std::copy(std::begin(properties.uuid), std::end(properties.uuid), info.uuid.begin());
    info.pci = PciAddress{.domain = static_cast<std::uint32_t>(properties.pci_domain),
                          .bus = static_cast<std::uint32_t>(properties.pci_bus),
                          .device = static_cast<std::uint32_t>(properties.pci_device)};
    info.memory_bytes = properties.total_global_bytes;
    info.compute_units = static_cast<std::uint32_t>(properties.compute_units);
    info.shared_bytes_per_block = static_cast<std::uint32_t>(properties.shared_bytes_per_block);
    info.wave_size = static_cast<std::uint32_t>(properties.wave_size);
    probe(hip, properties, info);
    return info;
}

Result<int> count_devices(const Runtime& hip) {
    int count = 0;
    if (auto counted = hip.check(hip->hipGetDeviceCount(&count), "hipGetDeviceCount"); !counted)
        return fail(counted.error().code, "{} finds no device ({}): HIP lane off", hip.library(),
                    counted.error().message);
    if (count == 0) return fail(ErrorCode::NotFound, "{} finds no device: HIP lane off", hip.library());
    return count;
}

class HipDevice final : public Device {
  public:
    explicit HipDevice(std::shared_ptr<Context> context) : context_(std::move(context)) {}

    const DeviceInfo& info() const override { return context_->info; }
    Result<std::unique_ptr<Memory>> allocate(std::string_view name, std::uint64_t bytes) override {
        return hip::allocate(context_, name, bytes);
    }
    Result<std::unique_ptr<Memory>> allocate_pinned(std::string_view name, std::uint64_t bytes) override {
        return hip::allocate_pinned(context_, name, bytes);
    }
    Result<std::unique_ptr<Memory>> import_host(std::string_view name, std::span<std::byte> memory) override {
        return hip::import_host(context_, name, memory);
    }
    Result<std::unique_ptr<Memory>> import_memory(std::string_view name, const ExternalMemoryDesc& desc) override {
        return hip::import_memory(context_, name, desc);
    }

    Result<std::unique_ptr<Stream>> create_stream(std::string_view name) override {
        return HipStream::create(context_, name);
    }
    Result<std::shared_ptr<Timeline>> create_timeline() override { return hip::create_timeline(context_); }
    Result<std::shared_ptr<Timeline>> import_timeline(int fd, std::shared_ptr<Timeline> original) override {
        return hip::import_timeline(context_, fd, std::move(original));
    }
    Result<std::shared_ptr<Event>> create_event() override {
        KG_TRY(auto clock, this->clock());
        KG_TRY(auto object, EventObject::create(context_));
        return std::make_shared<HipEvent>(std::move(object), std::move(clock));
    }
    Result<std::shared_ptr<Module>> load(std::string_view name, std::span<const std::byte> image) override {
        return HipModule::load(context_, name, image);
    }

    std::uint64_t bytes_allocated() const override { return context_->ledger.held(); }
    std::uint64_t peak_bytes() const override { return context_->ledger.peak(); }

  private:
    /// Its thread starts with the first event: who times nothing has none.
    Result<std::shared_ptr<DeviceClock>> clock() {
        std::lock_guard lock(clock_mutex_);
        if (!clock_) {
            auto clock = start_clock(context_);
            if (!clock) return clock;
            clock_ = std::move(*clock);
        }
        return clock_;
    }

    std::shared_ptr<Context> context_;
    std::mutex clock_mutex_;
    std::shared_ptr<DeviceClock> clock_;
};

}  // namespace

Result<std::vector<DeviceInfo>> inspect_devices(const std::string& library) {
    KG_TRY(auto runtime, Runtime::open(library));
    KG_TRY(auto count, count_devices(*runtime));
    std::vector<DeviceInfo> devices;
    devices.reserve(static_cast<std::size_t>(count));
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        KG_TRY(auto info, describe(*runtime, ordinal));
        devices.push_back(std::move(info));
    }
    return devices;
}

Result<std::unique_ptr<Device>> create_device(const DeviceOptions& options) {
    KG_TRY(auto runtime, Runtime::open(options.library));
    KG_TRY(auto count, count_devices(*runtime));
    if (options.ordinal >= static_cast<std::uint32_t>(count))
        return fail(ErrorCode::OutOfRange, "HIP device {}: {} has {} devices, counted from 0", options.ordinal,
                    runtime->library(), count);
    auto context = std::make_shared<Context>();
    context->runtime = runtime;
    context->ordinal = static_cast<int>(options.ordinal);
    KG_TRY(context->info, describe(*runtime, context->ordinal));
    if (auto current = context->make_current(); !current) return fail(std::move(current.error()), context->info.name);
    return std::make_unique<HipDevice>(std::move(context));
}

}  // namespace kinetograph::accel::hip
