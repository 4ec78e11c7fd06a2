#include <kinetograph/engine/accel/cuda/device.hpp>

#include <kinetograph/engine/accel/cuda/context.hpp>
#include <kinetograph/engine/accel/gpu/stream.hpp>

namespace kinetograph::accel::cuda {

Result<std::vector<DeviceInfo>> inspect_devices(const std::string& library) {
    return gpu::inspect_devices<Context>(library);
}

Result<std::unique_ptr<Device>> create_device(const DeviceOptions& options) {
    return gpu::create_device<Context>(options);
}

Result<std::unique_ptr<Stream>> adopt_stream(Device& device, std::string_view name, void* stream) {
    const std::string what = fmt::format("adopting stream \"{}\"", name);
    auto context = gpu::context_of<Context>(device);
    if (context == nullptr)
        return fail(ErrorCode::InvalidArgument, "{}: {} is not a CUDA device", what, device.info().name);
    auto* const handle = static_cast<StreamHandle>(stream);
    KG_CHECK_IN(what, context->check_adopted(handle));
    return gpu::GpuStream::adopt(std::move(context), name, handle);
}

const gpu::EntryPointTable* driver_calls(const Device& device) {
    const auto context = gpu::context_of<Context>(device);
    return context == nullptr ? nullptr : &context->cuda();
}

}  // namespace kinetograph::accel::cuda
