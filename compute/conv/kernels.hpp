// The kernels that this build carries for a GPU, loaded on a device: what convolutions and operators launch.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace kinetograph::conv {

/// Thread-safe. Images are loaded when a kernel of theirs is first asked for, and stay.
class Kernels {
  public:
    explicit Kernels(accel::Device& device) : device_(device) {}
    /// The one object of a device, shared by everybody who asks while somebody holds it; `device` outlives it.
    static std::shared_ptr<Kernels> of(accel::Device& device);

    /// `image`: of a fat binary (CUDA) or code object (HIP) by the name that the build gives it, its source's.
    /// Looks names up: for creation, not for every enqueue. Errors: Unsupported (this build carries no such image, with
    /// the reason), NotFound (the image has no such kernel), and those of Device::load.
    Result<std::shared_ptr<accel::Kernel>> get(std::string_view image, std::string_view kernel);

    accel::Device& device() const { return device_; }

  private:
    Result<std::shared_ptr<accel::Module>> module(std::string_view image, std::string_view kernel);

    accel::Device& device_;
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<accel::Module>, std::less<>> modules_;
    std::map<std::string, std::shared_ptr<accel::Kernel>, std::less<>> kernels_;
};

}  // namespace kinetograph::conv
