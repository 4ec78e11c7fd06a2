// GPUs through Vulkan as accelerators: kernels are SPIR-V that takes addresses. A device is opened by name, or the
// engine's own is adopted, so that decoding and drawing are passes of one VkDevice.
#pragma once

#include <kinetograph/engine/accel/backend.hpp>
#include <kinetograph/engine/vulkan/buffer.hpp>
#include <kinetograph/engine/vulkan/device.hpp>

namespace kinetograph::accel::vulkan {

Backend backend();

/// What Backend::adopt takes. The device outlives the result and all that is made by it. A device that the engine has
/// itself adopted from an application needs AdoptedDevice::create_chain to say that bufferDeviceAddress,
/// subgroupSizeControl and computeFullSubgroups are enabled.
struct CallersDevice {
    const ::kinetograph::vulkan::Device* device = nullptr;
};

/// How a device is opened that is not the caller's.
struct OpenOptions {
    std::uint32_t ordinal = 0;  ///< among the devices that can compute, best first
    ::kinetograph::vulkan::Validation validation = ::kinetograph::vulkan::Validation::Off;
    DeviceHooks hooks{};
};

/// Every device that can compute, as create_device() would describe it. Errors: NotFound (no loader, no device),
/// Unsupported (none can compute; the sentence says what each one lacks).
Result<std::vector<DeviceInfo>> inspect_devices();

/// Errors: as inspect_devices(), OutOfRange (no device of that ordinal), what the driver says.
Result<std::unique_ptr<Device>> create_device(const OpenOptions& options = {});

/// Errors: InvalidArgument (no device), Unsupported (a feature was not enabled), what the driver says.
Result<std::unique_ptr<Device>> adopt_device(const CallersDevice& callers, const DeviceHooks& hooks = {});

/// The engine's device in which `device` computes; null if it is not of this back end.
const ::kinetograph::vulkan::Device* device_of(const Device& device);

/// A buffer of device_of() as memory of `device`, without a copy: the graph's Vulkan lanes read what kernels write. The
/// buffer is BufferOptions::addressed, and outlives the result. Errors: InvalidArgument (it has no address).
Result<std::unique_ptr<Memory>> share_buffer(const Device& device, const ::kinetograph::vulkan::Buffer& buffer);

/// Part of a buffer of device_of(), for commands that take no addresses.
struct BufferPlace {
    VkBuffer buffer = nullptr;
    std::uint64_t offset = 0;
};
/// Where `bytes` bytes from an address of `device` are. Errors: InvalidArgument (memory of another device, or beyond
/// the end of an allocation).
Result<BufferPlace> buffer_at(const Device& device, const std::byte* address, std::uint64_t bytes);

}  // namespace kinetograph::accel::vulkan
