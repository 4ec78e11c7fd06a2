// The kernels of this build for a device, for convolutions and operators.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>

namespace kinetograph::conv {

/// Why this build has no such image for the device: "no fat binary "conv_bf16" in this build: built without nvcc"; ""
/// if it has.
std::string missing_image(const accel::DeviceInfo& device, std::string_view image);

/// Of the image's bytes, by which code is known again; 0 if this build lacks it.
std::uint64_t image_hash(const accel::DeviceInfo& device, std::string_view image);

/// A value: copies stand for the same kernels, which the device loads once and keeps. Thread-safe.
class Kernels {
  public:
    explicit Kernels(accel::Device& device) : device_(&device) {}  ///< which outlives this

    /// `image`: of a format that the device loads, by the name of its source in the build. Looks names up: call it at
    /// creation, not for every enqueue. Errors: Unsupported (this build has no such image, with the reason, or the
    /// image has no such kernel), and those of Device::load.
    Result<std::shared_ptr<accel::Kernel>> get(std::string_view image, std::string_view kernel) const;

    accel::Device& device() const { return *device_; }

  private:
    accel::Device* device_;
};

}  // namespace kinetograph::conv
