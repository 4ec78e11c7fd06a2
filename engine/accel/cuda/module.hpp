// Modules and kernels of CUDA: fat binaries, cubins or PTX, loaded by the driver.
#pragma once

#include <kinetograph/engine/accel/cuda/context.hpp>

namespace kinetograph::accel::cuda {

class CudaModule;

class CudaKernel final : public Kernel {
  public:
    CudaKernel(std::shared_ptr<CudaModule> module, FunctionHandle function, KernelInfo info)
        : module_(std::move(module)), function_(function), info_(std::move(info)) {}
    const KernelInfo& info() const override { return info_; }
    FunctionHandle function() const { return function_; }
    const CudaModule& module() const { return *module_; }

  private:
    std::shared_ptr<CudaModule> module_;
    FunctionHandle function_;
    KernelInfo info_;
};

class CudaModule final : public Module, public std::enable_shared_from_this<CudaModule> {
  public:
    /// Errors: Unsupported (no code for this architecture and no PTX that it can compile), Corrupt, what the driver
    /// says, with the log of its compiler where there is one.
    static Result<std::shared_ptr<CudaModule>> load(std::shared_ptr<Context> context, std::string_view name,
                                                    std::span<const std::byte> image);
    ~CudaModule() override;
    CudaModule(const CudaModule&) = delete;
    CudaModule& operator=(const CudaModule&) = delete;
    /// The kernel may be launched with all the dynamic shared memory that the device has for a block, and in clusters
    /// of more than eight blocks.
    Result<std::shared_ptr<Kernel>> kernel(std::string_view name) override;
    const Context& context() const { return *context_; }

  private:
    CudaModule(std::shared_ptr<Context> context, std::string_view name, ModuleHandle handle)
        : context_(std::move(context)), name_(name), handle_(handle) {}
    Result<KernelInfo> describe(std::string_view name, FunctionHandle function) const;
    std::optional<std::uint32_t> argument_bytes(FunctionHandle function) const;
    Result<void> lift_limits(FunctionHandle function, const KernelInfo& info) const;

    std::shared_ptr<Context> context_;
    std::string name_;
    ModuleHandle handle_;
};

}  // namespace kinetograph::accel::cuda
