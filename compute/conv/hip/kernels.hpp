// The gfx950 kernels of this build, loaded on a HIP device: what convolutions and operators launch.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/launch_shape.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace kinetograph::conv::hip {

/// Thread-safe. Code objects are loaded when a kernel of theirs is first asked for, and stay.
class Kernels {
  public:
    explicit Kernels(accel::Device& device) : device_(device) {}
    /// The one object of a device, shared by everybody who asks while somebody holds it; `device` outlives it.
    static std::shared_ptr<Kernels> of(accel::Device& device);

    /// Errors: Unsupported (this build carries no such code object, with the reason), NotFound (the code object has no
    /// such kernel), and those of Device::load.
    Result<std::shared_ptr<accel::Kernel>> get(const std::string& object, const std::string& kernel);

  private:
    accel::Device& device_;
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<accel::Module>> modules_;
    std::map<std::string, std::shared_ptr<accel::Kernel>> kernels_;
};

/// A kernel with its grid: what is left of a LaunchShape once its kernel is loaded.
class BoundKernel {
  public:
    /// Errors: those of Kernels::get.
    static Result<BoundKernel> create(Kernels& kernels, const gfx950::LaunchShape& shape);
    template <class Params>
    void launch(accel::Stream& stream, std::string_view pass_name, const Params& params) const {
        stream.launch({pass_name, *kernel_, grid_, {threads_, 1, 1}, {}, 0, accel::bytes_of(params)});
    }

  private:
    std::shared_ptr<accel::Kernel> kernel_;
    accel::Extent3 grid_;
    std::uint32_t threads_ = 0;
};

}  // namespace kinetograph::conv::hip
