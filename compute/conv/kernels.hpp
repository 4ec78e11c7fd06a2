// The kernels of this build for a GPU, loaded on a device, for convolutions and operators.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace kinetograph::conv {

/// Why this build has no such image for the device: "no fat binary "conv_bf16" in this build: built without nvcc"; ""
/// if it has.
std::string missing_image(const accel::DeviceInfo& device, std::string_view image);

/// Thread-safe. An image is loaded when one of its kernels is first requested, and stays loaded.
class Kernels {
  public:
    explicit Kernels(accel::Device& device) : device_(device) {}
    /// The device's object, shared by all callers while any of them holds it; `device` outlives it.
    static std::shared_ptr<Kernels> of(accel::Device& device);

    /// `image`: a fat binary (CUDA) or code object (HIP), by the name of its source in the build. Looks names up: call
    /// it at creation, not for every enqueue. Errors: Unsupported (this build has no such image, with the reason, or
    /// the image has no such kernel), and those of Device::load.
    Result<std::shared_ptr<accel::Kernel>> get(std::string_view image, std::string_view kernel);

    accel::Device& device() const { return device_; }

  private:
    Result<std::shared_ptr<accel::Module>> module(std::string_view image, std::string_view kernel) KG_REQUIRES(mutex_);

    accel::Device& device_;
    Mutex mutex_;
    std::map<std::string, std::shared_ptr<accel::Module>, std::less<>> modules_ KG_GUARDED_BY(mutex_);
    std::map<std::string, std::shared_ptr<accel::Kernel>, std::less<>> kernels_ KG_GUARDED_BY(mutex_);
};

}  // namespace kinetograph::conv
