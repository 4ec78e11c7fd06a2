#include <kinetograph/engine/accel/cuda/context.hpp>

namespace kinetograph::accel::cuda {

Result<std::shared_ptr<Context>> Context::retain(std::shared_ptr<const Driver> driver, DeviceOrdinal device,
                                                 DeviceInfo info) {
    std::shared_ptr<Context> context(new Context(std::move(driver), device, std::move(info)));
    if (auto retained =
            context->driver().call(context->cuda().cuDevicePrimaryCtxRetain, &context->handle_, context->device_);
        !retained)
        return fail(std::move(retained.error()), context->info_.name);
    const auto has = [&](DeviceAttribute attribute) {
        int value = 0;
        return context->cuda().cuDeviceGetAttribute(&value, attribute, context->device_) == Status::Success &&
               value != 0;
    };
    context->has_clusters_ = has(DeviceAttribute::ClusterLaunch);
    context->has_tensor_maps_ = has(DeviceAttribute::TensorMapAccessSupported);
    return context;
}

Context::~Context() {
    if (handle_ != nullptr) (void)cuda().cuDevicePrimaryCtxRelease_v2(device_);
}

// A context that cannot be made current is a lost one: the call that comes next says so.
Current::Current(const Context& context) : context_(context) {
    ContextHandle before = nullptr;
    if (context_.cuda().cuCtxGetCurrent(&before) == Status::Success && before == context_.handle()) return;
    pushed_ = context_.cuda().cuCtxPushCurrent_v2(context_.handle()) == Status::Success;
}

Current::~Current() {
    ContextHandle ours = nullptr;
    if (pushed_) (void)context_.cuda().cuCtxPopCurrent_v2(&ours);
}

CurrentUncaptured::CurrentUncaptured(const Context& context) : current_(context), context_(context) {
    (void)context_.cuda().cuThreadExchangeStreamCaptureMode(&mode_);
}

CurrentUncaptured::~CurrentUncaptured() { (void)context_.cuda().cuThreadExchangeStreamCaptureMode(&mode_); }

}  // namespace kinetograph::accel::cuda
