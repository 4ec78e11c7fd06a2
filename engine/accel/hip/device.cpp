#include <kinetograph/engine/accel/hip/device.hpp>

#include <kinetograph/engine/accel/gpu/stream.hpp>
#include <kinetograph/engine/accel/hip/context.hpp>

namespace kinetograph::accel::hip {

Result<std::vector<DeviceInfo>> inspect_devices(const std::string& library) {
    return gpu::inspect_devices<Context>(library);
}

Result<std::unique_ptr<Device>> create_device(const DeviceOptions& options) {
    return gpu::create_device<Context>(options);
}

Result<std::unique_ptr<Stream>> adopt_stream(Device& device, std::string_view name, void* stream) {
    auto context = gpu::context_of<Context>(device);
    if (context == nullptr)
        return fail(ErrorCode::InvalidArgument, "adopting stream \"{}\": {} is not a HIP device", name,
                    device.info().name);
    return gpu::GpuStream::adopt(std::move(context), name, static_cast<StreamHandle>(stream));
}

}  // namespace kinetograph::accel::hip
