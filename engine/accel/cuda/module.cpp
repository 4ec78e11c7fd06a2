#include <kinetograph/engine/accel/cuda/module.hpp>

#include <cstring>

namespace kinetograph::accel::cuda {

Result<std::shared_ptr<Module>> CudaModule::load(std::shared_ptr<Context> context, std::string_view name,
                                                 std::span<const std::byte> image) {
    const CurrentUncaptured current(*context);
    const Driver& driver = context->driver();
    std::array<char, 4096> log{};
    std::array options{JitOption::ErrorLogBuffer, JitOption::ErrorLogBufferBytes};
    std::array values{static_cast<void*>(log.data()), reinterpret_cast<void*>(log.size() - 1)};
    ModuleHandle handle = nullptr;
    auto loaded = driver.call(driver->cuModuleLoadDataEx, &handle, static_cast<const void*>(image.data()),
                              static_cast<unsigned>(options.size()), options.data(), values.data());
    if (loaded) return std::shared_ptr<Module>(new CudaModule(std::move(context), name, handle));
    std::string_view said(log.data(), ::strnlen(log.data(), log.size()));
    while (said.ends_with('\n')) said.remove_suffix(1);
    if (!said.empty()) loaded.error().message += fmt::format(" (\"{}\")", said);
    if (loaded.error().code == ErrorCode::Unsupported)
        loaded.error().message += fmt::format("; the device needs code for {}", context->info().architecture);
    return fail(std::move(loaded.error()));
}

CudaModule::~CudaModule() {
    if (!context_->given_up().has_ended()) return;
    const CurrentUncaptured current(*context_);
    (void)context_->cuda().cuModuleUnload(handle_);
}

Result<CudaModule::Found> CudaModule::find(const std::string& name) const {
    const CurrentUncaptured current(*context_);
    const Driver& driver = context_->driver();
    Found found;
    KG_CHECK(driver.call(driver->cuModuleGetFunction, &found.function, handle_, name.c_str()));
    KG_TRY(found.info, describe(name, found.function));
    KG_CHECK(lift_limits(found.function, found.info));
    return found;
}

/// Asking also loads the function: drivers put that off until a function is first needed.
Result<KernelInfo> CudaModule::describe(const std::string& name, FunctionHandle function) const {
    const Driver& driver = context_->driver();
    Result<void> asked;
    const auto ask = [&](FunctionAttribute attribute) {
        int value = 0;
        if (asked) asked = driver.call(driver->cuFuncGetAttribute, &value, attribute, function);
        return static_cast<std::uint32_t>(value);
    };
    KernelInfo info{.name = name,
                    .max_threads = ask(FunctionAttribute::MaxThreadsPerBlock),
                    .static_shared_bytes = ask(FunctionAttribute::SharedBytes),
                    .registers = ask(FunctionAttribute::Registers),
                    .scratch_bytes = ask(FunctionAttribute::LocalBytes),
                    .argument_bytes = argument_bytes(function)};
    KG_CHECK(std::move(asked));
    return info;
}

/// The size of the one parameter. The index after it is not queried: that would be an error, which tools report.
std::optional<std::uint32_t> CudaModule::argument_bytes(FunctionHandle function) const {
    const auto& ask = context_->cuda().cuFuncGetParamInfo;
    std::size_t offset = 0, bytes = 0;
    if (!ask.present() || ask(function, 0, &offset, &bytes) != Status::Success) return std::nullopt;
    return static_cast<std::uint32_t>(bytes);
}

Result<void> CudaModule::lift_limits(FunctionHandle function, const KernelInfo& info) const {
    const Driver& driver = context_->driver();
    const DeviceInfo& device = context_->info();
    if (device.shared_bytes_per_block > info.static_shared_bytes) {
        const auto most = static_cast<int>(device.shared_bytes_per_block - info.static_shared_bytes);
        if (auto set =
                driver.call(driver->cuFuncSetAttribute, function, FunctionAttribute::MaxDynamicSharedBytes, most);
            !set)
            return set;
    }
    if (!context_->has_clusters()) return {};
    return driver.call(driver->cuFuncSetAttribute, function, FunctionAttribute::NonPortableClusterSizeAllowed, 1);
}

}  // namespace kinetograph::accel::cuda
