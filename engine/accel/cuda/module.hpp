// Modules of CUDA: fat binaries, cubins or PTX, loaded by the driver.
#pragma once

#include <kinetograph/engine/accel/cuda/context.hpp>
#include <kinetograph/engine/accel/gpu/module.hpp>

namespace kinetograph::accel::cuda {

class CudaModule final : public gpu::GpuModule {
  public:
    /// Errors: Unsupported (no code for this architecture and no PTX that it can compile), Corrupt, what the driver
    /// says, with the log of its compiler where there is one.
    static Result<std::shared_ptr<Module>> load(std::shared_ptr<Context> context, std::string_view name,
                                                std::span<const std::byte> image);
    ~CudaModule() override;

  private:
    CudaModule(std::shared_ptr<Context> context, std::string_view name, ModuleHandle handle)
        : GpuModule(name), context_(std::move(context)), handle_(handle) {}
    const gpu::Context& context() const override { return *context_; }
    /// The kernel may be launched with all the dynamic shared memory that the device has for a block, and in clusters
    /// of more than eight blocks.
    Result<Found> find(const std::string& name) const override;
    Result<KernelInfo> describe(const std::string& name, FunctionHandle function) const;
    std::optional<std::uint32_t> argument_bytes(FunctionHandle function) const;
    Result<void> lift_limits(FunctionHandle function, const KernelInfo& info) const;

    std::shared_ptr<Context> context_;
    ModuleHandle handle_;
};

}  // namespace kinetograph::accel::cuda
