#include <kinetograph/engine/accel/vulkan/device.hpp>

#include <kinetograph/engine/accel/gpu/device.hpp>
#include <kinetograph/engine/accel/vulkan/context.hpp>

#include <array>

namespace kinetograph::accel::vulkan {
namespace {

/// The devices that can compute, best first.
Result<std::vector<vk::DeviceReport>> reports_of(const vk::Instance& instance) {
    KG_TRY(auto reports, vk::inspect_devices(instance));
    std::string reasons;
    for (const vk::DeviceReport& report : reports)
        for (const std::string& reason : missing_features(report))
            reasons += fmt::format("; {}: {}", report.name, reason);
    std::erase_if(reports, [](const vk::DeviceReport& report) { return !missing_features(report).empty(); });
    if (reports.empty())
        return fail(ErrorCode::Unsupported, "no Vulkan device can compute: Vulkan lane off{}", reasons);
    return reports;
}

Result<std::unique_ptr<vk::Instance>> create_instance(vk::Validation validation) {
    KG_TRY(const auto loader, vk::Loader::open());
    return vk::Instance::create(loader, {.validation = validation});
}

class SharedMemory final : public Memory {
  public:
    SharedMemory(std::shared_ptr<Context> context, const vk::Buffer& buffer, std::byte* address)
        : context_(std::move(context)), buffer_(buffer), address_(address) {}
    ~SharedMemory() override { context_->release(address_); }
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;
    std::byte* data() const override { return address_; }
    std::byte* host_data() const override { return buffer_.mapped(); }
    std::uint64_t bytes() const override { return buffer_.bytes(); }

  private:
    std::shared_ptr<Context> context_;
    const vk::Buffer& buffer_;
    std::byte* address_;
};

std::shared_ptr<Context> context_of(const Device& device) { return gpu::context_of<Context>(device); }

}  // namespace

Backend backend() {
    static constexpr VulkanBackend kInVulkan{
        .compute_in = [](const vk::Display& display,
                         const DeviceHooks& hooks) { return adopt_device({&display.device()}, hooks); },
        .display_of = [](const Device& device) -> const vk::Display* { return device_of(device); },
        .share = share_buffer};
    static constexpr std::array<std::string_view, 1> kFormats{"SPIR-V"};
    constexpr std::int32_t kDlVulkan = 7;
    return {.name = kKind,
            .inspect = [] { return inspect_devices(); },
            .open = [](std::uint32_t ordinal,
                       const DeviceHooks& hooks) { return create_device({.ordinal = ordinal, .hooks = hooks}); },
            .adopt =
                [](const void* callers, const DeviceHooks& hooks) {
                    return adopt_device(*static_cast<const CallersDevice*>(callers), hooks);
                },
            .in_vulkan = &kInVulkan,
            .image_formats = kFormats,
            .open_sensors = [](const DeviceInfo& device, const SensorSources&) -> Result<std::unique_ptr<Sensors>> {
                return fail(ErrorCode::NotFound, "{}: Vulkan has no sensors", device.name);
            },
            .dlpack_type = kDlVulkan};
}

Result<std::vector<DeviceInfo>> inspect_devices() {
    KG_TRY(const auto instance, create_instance(vk::Validation::Off));
    KG_TRY(const auto reports, reports_of(*instance));
    std::vector<DeviceInfo> devices;
    devices.reserve(reports.size());
    for (const vk::DeviceReport& report : reports) devices.push_back(describe(*instance, report));
    return devices;
}

Result<std::unique_ptr<Device>> create_device(const OpenOptions& options) {
    OwnDevice own;
    KG_TRY(own.instance, create_instance(options.validation));
    KG_TRY(const auto reports, reports_of(*own.instance));
    if (options.ordinal >= reports.size())
        return fail(ErrorCode::OutOfRange, "Vulkan device {}: {} can compute, counted from 0", options.ordinal,
                    reports.size());
    KG_TRY(own.device, vk::Device::create(*own.instance, {.physical = reports[options.ordinal].handle}));
    const vk::Device& device = *own.device;
    KG_TRY(auto context, Context::create(device, std::move(own)));
    return std::make_unique<gpu::GpuDevice>(std::move(context), options.hooks);
}

Result<std::unique_ptr<Device>> adopt_device(const CallersDevice& callers, const DeviceHooks& hooks) {
    if (callers.device == nullptr)
        return fail(ErrorCode::InvalidArgument, "computing in the caller's device: it is null");
    KG_TRY(auto context, Context::create(*callers.device, {}));
    return std::make_unique<gpu::GpuDevice>(std::move(context), hooks);
}

const vk::Device* device_of(const Device& device) {
    const auto context = context_of(device);
    return context == nullptr ? nullptr : &context->device();
}

Result<std::unique_ptr<Memory>> share_buffer(const Device& device, const vk::Buffer& buffer) {
    const auto context = context_of(device);
    if (context == nullptr)
        return fail(ErrorCode::InvalidArgument, "sharing buffer \"{}\": {} is no device of Vulkan's", buffer.name(),
                    device.info().name);
    KG_TRY_IN(fmt::format("sharing buffer \"{}\"", buffer.name()), auto* const address, context->share(buffer));
    return std::make_unique<SharedMemory>(context, buffer, address);
}

Result<BufferPlace> buffer_at(const Device& device, const std::byte* address, std::uint64_t bytes) {
    const auto context = context_of(device);
    if (context == nullptr)
        return fail(ErrorCode::InvalidArgument, "{} is no device of Vulkan's: its memory is no buffer",
                    device.info().name);
    KG_TRY(const auto range, context->range(address, bytes));
    return BufferPlace{range.buffer, range.offset};
}

}  // namespace kinetograph::accel::vulkan
