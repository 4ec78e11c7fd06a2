#include <kinetograph/engine/accel/cuda/device.hpp>

#include <kinetograph/engine/accel/cuda/context.hpp>
#include <kinetograph/engine/accel/cuda/nvml.hpp>

#include <array>

namespace kinetograph::accel::cuda {

Backend backend() {
    static constexpr std::array<std::string_view, 1> kFormats{"fat binary"};
    constexpr std::int32_t kDlCuda = 2;
    return {.name = Context::kKind,
            .inspect = [] { return inspect_devices(); },
            .open =
                [](std::uint32_t ordinal, const DeviceHooks& hooks) {
                    return create_device({.library = {}, .ordinal = ordinal, .hooks = hooks});
                },
            .image_formats = kFormats,
            .open_sensors = [](const DeviceInfo& device,
                               const SensorSources& sources) { return open_nvml(device, sources.nvml); },
            .dlpack_type = kDlCuda};
}

Result<std::vector<DeviceInfo>> inspect_devices(const std::string& library) {
    return gpu::inspect_devices<Context>(library);
}

Result<std::unique_ptr<Device>> create_device(const DeviceOptions& options) {
    return gpu::create_device<Context>(options);
}

const gpu::EntryPointTable* driver_calls(const Device& device) {
    const auto context = gpu::context_of<Context>(device);
    return context == nullptr ? nullptr : &context->cuda();
}

}  // namespace kinetograph::accel::cuda
