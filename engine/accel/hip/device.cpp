#include <kinetograph/engine/accel/hip/device.hpp>

#include <kinetograph/engine/accel/hip/context.hpp>

namespace kinetograph::accel::hip {

Result<std::vector<DeviceInfo>> inspect_devices(const std::string& library) {
    return gpu::inspect_devices<Context>(library);
}

Result<std::unique_ptr<Device>> create_device(const DeviceOptions& options) {
    return gpu::create_device<Context>(options);
}

}  // namespace kinetograph::accel::hip
