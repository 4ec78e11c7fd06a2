#include <kinetograph/engine/accel/hip/device.hpp>

#include <kinetograph/engine/accel/hip/context.hpp>
#include <kinetograph/engine/accel/sysfs_sensors.hpp>

#include <array>

namespace kinetograph::accel::hip {

Backend backend() {
    static constexpr std::array<std::string_view, 1> kFormats{"code object"};
    constexpr std::int32_t kDlRocm = 10;
    return {.name = Context::kKind,
            .inspect = [] { return inspect_devices(); },
            .open =
                [](std::uint32_t ordinal, const DeviceHooks& hooks) {
                    return create_device({.library = {}, .ordinal = ordinal, .hooks = hooks});
                },
            .image_formats = kFormats,
            .open_sensors = [](const DeviceInfo& device,
                               const SensorSources& sources) { return open_amdgpu_sensors(device, sources.sysfs); },
            .dlpack_type = kDlRocm};
}

Result<std::vector<DeviceInfo>> inspect_devices(const std::string& library) {
    return gpu::inspect_devices<Context>(library);
}

Result<std::unique_ptr<Device>> create_device(const DeviceOptions& options) {
    return gpu::create_device<Context>(options);
}

}  // namespace kinetograph::accel::hip
