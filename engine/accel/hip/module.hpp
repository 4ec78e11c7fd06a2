// Modules of HIP: code objects loaded by the runtime.
#pragma once

#include <kinetograph/engine/accel/gpu/module.hpp>
#include <kinetograph/engine/accel/hip/code_object.hpp>
#include <kinetograph/engine/accel/hip/context.hpp>

namespace kinetograph::accel::hip {

class HipModule final : public gpu::GpuModule {
  public:
    /// Errors: Unsupported (built for another architecture), Corrupt, what the driver says.
    static Result<std::shared_ptr<Module>> load(std::shared_ptr<Context> context, std::string_view name,
                                                std::span<const std::byte> image);
    ~HipModule() override;

  private:
    HipModule(std::shared_ptr<Context> context, std::string_view name, std::optional<CodeObject> object,
              ModuleHandle handle)
        : GpuModule(name), context_(std::move(context)), object_(std::move(object)), handle_(handle) {}
    const gpu::Context& context() const override { return *context_; }
    Result<Found> find(const std::string& name) const override;
    KernelInfo describe(const std::string& name, FunctionHandle function) const;

    std::shared_ptr<Context> context_;
    std::optional<CodeObject> object_;  ///< empty where the image is a bundle
    ModuleHandle handle_;
};

}  // namespace kinetograph::accel::hip
