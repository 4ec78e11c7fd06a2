// CudaSide: a CUDA lane on the same GPU as Vulkan: on the stand-in driver, which maps the memory that lavapipe exports
// and waits for its semaphores, or on the driver that KINETOGRAPH_CUDA_LIBRARY names.
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
    /// The stand-in's control; null on a real driver.
    standin::Control* control() const { return control_; }
    /// The stand-in's complaints after the device was destroyed; empty: none.
    std::string complaints() const;

  private:
    std::string library_;
    standin::Control* control_;  ///< null on a real driver
};

}  // namespace kinetograph::interop::testing
