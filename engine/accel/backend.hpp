// Backend: an API through which devices compute. backends.cmake lists their folders.
#pragma once

#include <kinetograph/engine/accel/sensors.hpp>

namespace kinetograph::accel {

/// What a back end's folder gives, by backend() in its device.hpp.
struct Backend {
    /// A literal, "cuda": the first word of its devices' names, and their DeviceInfo::kind.
    std::string_view name;
    /// Its devices, as open() would describe them. Errors: NotFound (what is missing), what the driver says.
    Result<std::vector<DeviceInfo>> (*inspect)() = nullptr;
    /// Errors: as inspect(); OutOfRange (no device of that ordinal).
    Result<std::unique_ptr<Device>> (*open)(std::uint32_t ordinal, const DeviceHooks& hooks) = nullptr;
    /// Computes in a device that the caller has made and keeps, and that outlives the result. `callers` points to the
    /// record of its handles that the folder's device.hpp declares. Null: its devices are only opened.
    Result<std::unique_ptr<Device>> (*adopt)(const void* callers, const DeviceHooks& hooks) = nullptr;
    /// Forms of device code that Device::load takes, best first: "fat binary", "code object", "SPIR-V".
    std::span<const std::string_view> image_formats{};
    Result<std::unique_ptr<Sensors>> (*open_sensors)(const DeviceInfo& device, const SensorSources& sources) = nullptr;
    std::int32_t dlpack_type = 0;  ///< DLDeviceType of its memory (dlpack.h, 0.8)
};

/// In the order of backends.cmake: the CPU, then the others as `auto` tries them.
std::span<const Backend> backends();
/// Null if there is none of that name.
const Backend* find_backend(std::string_view name);

}  // namespace kinetograph::accel
