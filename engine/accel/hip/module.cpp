#include <kinetograph/engine/accel/hip/module.hpp>

namespace kinetograph::accel::hip {

Result<std::shared_ptr<HipModule>> HipModule::load(std::shared_ptr<Context> context, std::string_view name,
                                                   std::span<const std::byte> image) {
    const std::string what = fmt::format("loading \"{}\" on {}", name, context->info.name);
    if (image.empty()) return fail(ErrorCode::InvalidArgument, "{}: the image is empty", what);
    auto object = read_code_object(image);
    if (!object) return fail(std::move(object.error()), what);
    if (object->has_value() && (*object)->architecture != context->info.architecture)
        return fail(ErrorCode::Unsupported, "{}: the image is built for {}, the device is {}", what,
                    (*object)->architecture, context->info.architecture);
    if (auto current = context->make_current(); !current) return fail(std::move(current.error()), what);
    ModuleHandle handle = nullptr;
    if (auto loaded =
            context->runtime->check(context->hip().hipModuleLoadData(&handle, image.data()), "hipModuleLoadData");
        !loaded)
        return fail(std::move(loaded.error()), what);
    return std::shared_ptr<HipModule>(new HipModule(std::move(context), name, std::move(*object), handle));
}

HipModule::~HipModule() {
    (void)context_->make_current();
    (void)context_->hip().hipModuleUnload(handle_);
}

Result<std::shared_ptr<Kernel>> HipModule::kernel(std::string_view name) {
    const std::string what = fmt::format("kernel \"{}\" of \"{}\"", name, name_);
    if (auto current = context_->make_current(); !current) return fail(std::move(current.error()), what);
    FunctionHandle function = nullptr;
    if (auto found = context_->runtime->check(
            context_->hip().hipModuleGetFunction(&function, handle_, std::string(name).c_str()),
            "hipModuleGetFunction");
        !found)
        return fail(std::move(found.error()), what);
    return std::make_shared<HipKernel>(shared_from_this(), function, describe(name, function));
}

KernelInfo HipModule::describe(std::string_view name, FunctionHandle function) const {
    const auto ask = [&](int attribute) -> std::optional<std::uint32_t> {
        int value = 0;
        if (context_->hip().hipFuncGetAttribute(&value, attribute, function) != Status::Success) return std::nullopt;
        return static_cast<std::uint32_t>(value);
    };
    KernelInfo info{.name = std::string(name),
                    .max_threads = ask(kFunctionMaxThreadsPerBlock).value_or(0),
                    .static_shared_bytes = ask(kFunctionSharedBytes).value_or(0),
                    .registers = ask(kFunctionRegisters),
                    .scratch_bytes = ask(kFunctionLocalBytes),
                    .argument_bytes = {}};
    const CodeObjectKernel* kernel = object_ ? object_->find(name) : nullptr;
    if (kernel == nullptr) return info;
    // What the image states is exact; the runtime answers some of these from the device's limits.
    if (kernel->max_threads != 0) info.max_threads = kernel->max_threads;
    info.static_shared_bytes = kernel->shared_bytes;
    info.registers = kernel->vgprs;
    info.scratch_bytes = kernel->scratch_bytes;
    info.argument_bytes = kernel->argument_bytes;
    return info;
}

}  // namespace kinetograph::accel::hip
