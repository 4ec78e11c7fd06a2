#include <kinetograph/engine/accel/cuda/device.hpp>

#include <kinetograph/engine/accel/cuda/device_context.hpp>
#include <kinetograph/engine/accel/cuda/event.hpp>
#include <kinetograph/engine/accel/cuda/memory.hpp>
#include <kinetograph/engine/accel/cuda/module.hpp>
#include <kinetograph/engine/accel/cuda/stream.hpp>
#include <kinetograph/engine/accel/cuda/timeline.hpp>

#include <algorithm>
#include <cstring>

namespace kinetograph::accel::cuda {

namespace {

/// Asks a device one thing after another; the first answer that is an error stands.
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

Result<DeviceInfo> describe(const Driver& driver, DeviceOrdinal device) {
    Questions ask(driver, device);
    DeviceInfo info;
    info.kind = Kind::Cuda;
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
    info.wave_size = ask.attribute(DeviceAttribute::WarpSize);
    info.can_load = info.can_capture = info.can_time_graphs = info.can_import_memory = where(true, {});
    info.can_import_host = where(ask.attribute(DeviceAttribute::HostRegisterSupported) != 0,
                                 "the device reports CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED 0");
    info.can_import_timeline = where(ask.attribute(DeviceAttribute::TimelineSemaphoreInteropSupported) != 0,
                                     "the device reports CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED 0");
    if (ask.error()) return fail(*ask.error(), fmt::format("CUDA device {}", device));
    return info;
}

Result<std::vector<DeviceOrdinal>> list_devices(const Driver& driver) {
    int count = 0;
    if (auto counted = driver.call(driver->cuDeviceGetCount, &count); !counted)
        return fail(counted.error().code, "{} finds no device ({}): CUDA lane off", driver.library(),
                    counted.error().message);
    if (count == 0) return fail(ErrorCode::NotFound, "{} finds no device: CUDA lane off", driver.library());
    std::vector<DeviceOrdinal> devices(static_cast<std::size_t>(count));
    for (int ordinal = 0; ordinal < count; ++ordinal)
        if (auto found = driver.call(driver->cuDeviceGet, &devices[static_cast<std::size_t>(ordinal)], ordinal); !found)
            return fail(std::move(found.error()), fmt::format("CUDA device {}", ordinal));
    return devices;
}

class CudaDevice final : public Device {
  public:
    explicit CudaDevice(std::shared_ptr<Context> context) : context_(std::move(context)) {}

    const DeviceInfo& info() const override { return context_->info(); }
    const std::shared_ptr<Context>& context() const { return context_; }
    Result<std::unique_ptr<Memory>> allocate(std::string_view name, std::uint64_t bytes) override {
        return cuda::allocate(context_, name, bytes);
    }
    Result<std::unique_ptr<Memory>> allocate_pinned(std::string_view name, std::uint64_t bytes) override {
        return cuda::allocate_pinned(context_, name, bytes);
    }
    Result<std::unique_ptr<Memory>> import_host(std::string_view name, std::span<std::byte> memory) override {
        return cuda::import_host(context_, name, memory);
    }
    Result<std::unique_ptr<Memory>> import_memory(std::string_view name, const ExternalMemoryDesc& desc) override {
        return cuda::import_memory(context_, name, desc);
    }

    Result<std::unique_ptr<Stream>> create_stream(std::string_view name) override {
        return CudaStream::create(context_, name);
    }
    Result<std::shared_ptr<Timeline>> create_timeline() override { return cuda::create_timeline(context_); }
    Result<std::shared_ptr<Timeline>> import_timeline(int fd, std::shared_ptr<Timeline> original) override {
        return cuda::import_timeline(context_, fd, std::move(original));
    }
    Result<std::shared_ptr<Event>> create_event() override {
        KG_TRY(auto clock, this->clock());
        KG_TRY(auto object, EventObject::create(context_));
        return std::make_shared<CudaEvent>(std::move(object), std::move(clock));
    }
    Result<std::shared_ptr<Module>> load(std::string_view name, std::span<const std::byte> image) override {
        return CudaModule::load(context_, name, image);
    }

    std::uint64_t bytes_allocated() const override { return context_->ledger().held(); }
    std::uint64_t peak_bytes() const override { return context_->ledger().peak(); }

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
    KG_TRY(auto driver, Driver::open(library));
    KG_TRY(auto devices, list_devices(*driver));
    std::vector<DeviceInfo> described;
    described.reserve(devices.size());
    for (const DeviceOrdinal device : devices) {
        KG_TRY(auto info, describe(*driver, device));
        described.push_back(std::move(info));
    }
    return described;
}

Result<std::unique_ptr<Device>> create_device(const DeviceOptions& options) {
    KG_TRY(auto driver, Driver::open(options.library));
    KG_TRY(auto devices, list_devices(*driver));
    if (options.ordinal >= devices.size())
        return fail(ErrorCode::OutOfRange, "CUDA device {}: {} has {} devices, counted from 0", options.ordinal,
                    driver->library(), devices.size());
    const DeviceOrdinal device = devices[options.ordinal];
    KG_TRY(auto info, describe(*driver, device));
    KG_TRY(auto context, Context::retain(std::move(driver), device, std::move(info)));
    return std::make_unique<CudaDevice>(std::move(context));
}

std::shared_ptr<Context> context_of(const Device& device) {
    const auto* own = dynamic_cast<const CudaDevice*>(&device);
    return own == nullptr ? nullptr : own->context();
}

Result<std::unique_ptr<Stream>> adopt_stream(Device& device, std::string_view name, void* stream) {
    auto context = context_of(device);
    if (context == nullptr)
        return fail(ErrorCode::InvalidArgument, "adopting stream \"{}\": {} is not a CUDA device", name,
                    device.info().name);
    return CudaStream::adopt(std::move(context), name, static_cast<StreamHandle>(stream));
}

const EntryPointTable* driver_calls(const Device& device) {
    const auto context = context_of(device);
    return context == nullptr ? nullptr : &context->cuda();
}

}  // namespace kinetograph::accel::cuda
