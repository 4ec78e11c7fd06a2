#include <kinetograph/engine/accel/hip/module.hpp>

namespace kinetograph::accel::hip {

Result<std::shared_ptr<Module>> HipModule::load(std::shared_ptr<Context> context, std::string_view name,
                                                std::span<const std::byte> image) {
    KG_TRY(auto object, read_code_object(image));
    if (object && object->architecture != context->info().architecture)
        return fail(ErrorCode::Unsupported, "the image is built for {}, the device is {}", object->architecture,
                    context->info().architecture);
    KG_CHECK(context->make_current());
    ModuleHandle handle = nullptr;
    KG_CHECK(context->driver().call(context->hip().hipModuleLoadData, &handle, image.data()));
    return std::shared_ptr<Module>(new HipModule(std::move(context), name, std::move(object), handle));
}

HipModule::~HipModule() {
    if (!context_->given_up().has_ended()) return;
    (void)context_->make_current();
    (void)context_->hip().hipModuleUnload(handle_);
}

Result<HipModule::Found> HipModule::find(const std::string& name) const {
    KG_CHECK(context_->make_current());
    Found found;
    KG_CHECK(context_->driver().call(context_->hip().hipModuleGetFunction, &found.function, handle_, name.c_str()));
    found.info = describe(name, found.function);
    return found;
}

KernelInfo HipModule::describe(const std::string& name, FunctionHandle function) const {
    const auto ask = [&](int attribute) -> std::optional<std::uint32_t> {
        int value = 0;
        if (context_->hip().hipFuncGetAttribute(&value, attribute, function) != Status::Success) return std::nullopt;
        return static_cast<std::uint32_t>(value);
    };
    KernelInfo info{.name = name,
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
