// GpuDevice: accel::Device on the Context of either API.
#pragma once

#include <kinetograph/engine/accel/gpu/context.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include <vector>

namespace kinetograph::accel::gpu {

class EventClock;

/// Which device of a driver.
struct DeviceOptions {
    std::string library;        ///< of the driver; empty: what the environment names, or the API's own name
    std::uint32_t ordinal = 0;  ///< index into inspect_devices()
    DeviceHooks hooks{};
};

class GpuDevice final : public Device {
  public:
    GpuDevice(std::shared_ptr<Context> context, const DeviceHooks& hooks)
        : Device(hooks.log), context_(std::move(context)) {
        context_->ledger().set_budget(hooks.budget);
    }
    /// Work that was given up and has ended lets go of the context now.
    ~GpuDevice() override { (void)context_->given_up().has_ended(); }
    GpuDevice(const GpuDevice&) = delete;
    GpuDevice& operator=(const GpuDevice&) = delete;
    const std::shared_ptr<Context>& context() const { return context_; }

    const DeviceInfo& info() const override { return context_->info(); }
    void enter_thread() override { context_->enter_thread(); }
    std::optional<ClockQuality> clock_quality() const override;
    Result<std::unique_ptr<Memory>> allocate(std::string_view name, std::uint64_t bytes) override;
    Result<std::unique_ptr<Memory>> allocate_pinned(std::string_view name, std::uint64_t bytes) override;
    Result<std::unique_ptr<Memory>> import_host(std::string_view name, std::span<std::byte> memory) override;
    Result<std::unique_ptr<Memory>> import_memory(std::string_view name, const ExternalMemoryDesc& desc) override;
    Result<std::unique_ptr<Stream>> create_stream(std::string_view name) override;
    Result<std::unique_ptr<Stream>> adopt_stream(std::string_view name, void* stream) override;
    Result<bool> is_capturing(void* stream) override {
        return context_->is_capturing(static_cast<StreamHandle>(stream));
    }
    Result<void> check_address(const std::byte* address) override { return context_->check_address(address); }
    Result<void> reach(Device& other) override;
    Result<std::shared_ptr<Timeline>> create_timeline() override;
    Result<std::shared_ptr<Timeline>> import_timeline(int fd, std::shared_ptr<Timeline> original) override;
    Result<std::shared_ptr<Event>> create_event() override;
    Result<std::shared_ptr<Module>> load(std::string_view name, std::span<const std::byte> image) override;
    const TensorMapEncoder* encoder() const override { return context_->encoder(); }
    std::uint64_t bytes_allocated() const override { return context_->ledger().held(); }
    std::uint64_t peak_bytes() const override { return context_->ledger().peak(); }
    std::uint64_t bytes_free() const override {
        return std::min(context_->memory_left().free, context_->ledger().left());
    }
    std::uint64_t budget_bytes() const override { return context_->ledger().budget(); }
    void set_budget(MemoryBudget budget) override { context_->ledger().set_budget(std::move(budget)); }

  private:
    Result<std::shared_ptr<EventClock>> clock();

    std::shared_ptr<Context> context_;
    mutable Mutex clock_mutex_;
    std::shared_ptr<EventClock> clock_ KG_GUARDED_BY(clock_mutex_);
};

/// Every device of the driver, as create_device() would describe it. `Of` is an API's context class; used of it are
/// Driver and describe(driver, ordinal).
template <class Of>
Result<std::vector<DeviceInfo>> inspect_devices(const std::string& library) {
    KG_TRY(const auto driver, Of::Driver::open(library));
    KG_TRY(const std::uint32_t count, driver->count_devices());
    std::vector<DeviceInfo> devices(count);
    for (std::uint32_t ordinal = 0; ordinal < count; ++ordinal) {
        KG_TRY(devices[ordinal], Of::describe(*driver, ordinal));
    }
    return devices;
}

/// Errors: as inspect_devices(), OutOfRange (no device of that ordinal). Of::create(driver, ordinal, info) opens it.
template <class Of>
Result<std::unique_ptr<Device>> create_device(const DeviceOptions& options) {
    KG_TRY(auto driver, Of::Driver::open(options.library));
    KG_TRY(const std::uint32_t count, driver->count_devices());
    if (options.ordinal >= count)
        return fail(ErrorCode::OutOfRange, "{} device {}: {} has {} devices, counted from 0", Of::kLane,
                    options.ordinal, driver->library(), count);
    KG_TRY(auto info, Of::describe(*driver, options.ordinal));
    KG_TRY(auto context, Of::create(std::move(driver), options.ordinal, std::move(info)));
    return std::make_unique<GpuDevice>(std::move(context), options.hooks);
}

/// The device's context if it is of that API, else null.
template <class Of>
std::shared_ptr<Of> context_of(const Device& device) {
    const auto* const gpu = dynamic_cast<const GpuDevice*>(&device);
    return gpu == nullptr ? nullptr : std::dynamic_pointer_cast<Of>(gpu->context());
}

}  // namespace kinetograph::accel::gpu
