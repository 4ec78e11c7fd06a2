// Backend: an API through which devices compute. backends.cmake lists their folders.
#pragma once

#include <kinetograph/engine/accel/sensors.hpp>

namespace kinetograph::vulkan {
class Buffer;
class Display;
}  // namespace kinetograph::vulkan

namespace kinetograph::accel {

/// Of a back end that computes in Vulkan's devices, one of which may be the one that draws.
struct VulkanBackend {
    /// Computes in that device, which outlives the result. Errors: those of Backend::adopt.
    Result<std::unique_ptr<Device>> (*compute_in)(const ::kinetograph::vulkan::Display& display,
                                                  const DeviceHooks& hooks) = nullptr;
    /// What the device computes in; null if it is not of this back end.
    const ::kinetograph::vulkan::Display* (*display_of)(const Device& device) = nullptr;
    /// A buffer of Display::create_buffer() as memory of a device that computes there, without a copy; the buffer
    /// outlives the result. Errors: InvalidArgument (a device of another back end).
    Result<std::unique_ptr<Memory>> (*share)(const Device& device,
                                             const ::kinetograph::vulkan::Buffer& buffer) = nullptr;
};

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
    const VulkanBackend* in_vulkan = nullptr;  ///< null: it computes in no Vulkan device
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
