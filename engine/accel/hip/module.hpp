// Modules and kernels of HIP: code objects loaded by the runtime.
#pragma once

#include <kinetograph/engine/accel/hip/code_object.hpp>
#include <kinetograph/engine/accel/hip/context.hpp>

namespace kinetograph::accel::hip {

class HipModule;

class HipKernel final : public Kernel {
  public:
    HipKernel(std::shared_ptr<HipModule> module, FunctionHandle function, KernelInfo info)
        : module_(std::move(module)), function_(function), info_(std::move(info)) {}
    const KernelInfo& info() const override { return info_; }
    FunctionHandle function() const { return function_; }
    const HipModule& module() const { return *module_; }

  private:
    std::shared_ptr<HipModule> module_;
    FunctionHandle function_;
    KernelInfo info_;
};

class HipModule final : public Module, public std::enable_shared_from_this<HipModule> {
  public:
    /// Errors: Unsupported (built for another architecture), Corrupt, what the driver says.
    static Result<std::shared_ptr<HipModule>> load(std::shared_ptr<Context> context, std::string_view name,
                                                   std::span<const std::byte> image);
    ~HipModule() override;
    HipModule(const HipModule&) = delete;
    HipModule& operator=(const HipModule&) = delete;
    Result<std::shared_ptr<Kernel>> kernel(std::string_view name) override;
    const Context& context() const { return *context_; }

  private:
    HipModule(std::shared_ptr<Context> context, std::string_view name, std::optional<CodeObject> object,
              ModuleHandle handle)
        : context_(std::move(context)), name_(name), object_(std::move(object)), handle_(handle) {}
    KernelInfo describe(std::string_view name, FunctionHandle function) const;

    std::shared_ptr<Context> context_;
    std::string name_;
    std::optional<CodeObject> object_;  ///< empty where the image is a bundle
    ModuleHandle handle_;
};

}  // namespace kinetograph::accel::hip
