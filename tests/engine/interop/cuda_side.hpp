// CudaSide: the CUDA lane as the GPU that draws: on the stand-in driver, which then maps the memory that lavapipe
// exports and sees its semaphores, or on the driver that KINETOGRAPH_CUDA_LIBRARY names.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/tests/standin/standin.hpp>

#include <string>

namespace kinetograph::interop::testing {

class CudaSide {
  public:
    /// `standin` is the library that is opened where no driver is named.
    explicit CudaSide(const std::string& standin);
    bool real() const { return control_ == nullptr; }

    /// The device; on the stand-in, with these options and the UUID of `display`.
    Result<std::unique_ptr<accel::Device>> create_device(const vulkan::Device& display, standin::Options options = {});
    /// Of the stand-in; null on a real driver.
    standin::Control* control() const { return control_; }
    /// What the stand-in objects to once the device is gone; empty: nothing.
    std::string complaints() const;

  private:
    std::string library_;
    standin::Control* control_;  ///< null on a real driver
};

}  // namespace kinetograph::interop::testing
