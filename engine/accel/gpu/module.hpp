// Modules and kernels of a GPU. How an image describes its kernels differs by API.
#pragma once

#include <kinetograph/engine/accel/gpu/context.hpp>

namespace kinetograph::accel::gpu {

class GpuKernel final : public Kernel {
  public:
    GpuKernel(std::shared_ptr<Module> module, const Context& context, FunctionHandle function, KernelInfo info)
        : module_(std::move(module)), context_(context), function_(function), info_(std::move(info)) {}
    const KernelInfo& info() const override { return info_; }
    FunctionHandle function() const { return function_; }
    const void* owner() const override { return &context_; }

  private:
    std::shared_ptr<Module> module_;
    const Context& context_;  ///< the module's
    FunctionHandle function_;
    KernelInfo info_;
};

class GpuModule : public Module, public std::enable_shared_from_this<GpuModule> {
  public:
    GpuModule(const GpuModule&) = delete;
    GpuModule& operator=(const GpuModule&) = delete;
    Result<std::shared_ptr<Kernel>> kernel(std::string_view name) final {
        KG_TRY_IN(fmt::format("kernel \"{}\" of \"{}\"", name, name_), auto found, find(std::string(name)));
        return std::make_shared<GpuKernel>(shared_from_this(), context(), found.function, std::move(found.info));
    }

  protected:
    struct Found {
        FunctionHandle function = nullptr;
        KernelInfo info;
    };
    explicit GpuModule(std::string_view name) : name_(name) {}

  private:
    virtual Result<Found> find(const std::string& name) const = 0;
    virtual const Context& context() const = 0;
    std::string name_;
};

}  // namespace kinetograph::accel::gpu
