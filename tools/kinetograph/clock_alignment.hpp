// Clock alignment: the difference between CUDA's and Vulkan's statement of when one moment on a GPU was.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/tools/kinetograph/bench.hpp>

namespace kinetograph::cli {

struct ClockAlignment {
    Nanoseconds accelerator_error{}, vulkan_error{};  ///< that each lane states of its own clock, at the last reading
    Samples distance;                                 ///< Vulkan's statement minus the accelerator's, seconds
    Samples width;  ///< of the accelerator's interval around the moment; `distance` is from its middle
    /// |distance| minus half that interval and both stated errors; positive: they do not bound the distance.
    Samples excess;
};

/// A kernel writes the GPU's timer, which Vulkan's time stamps count too, between two events. The events say when that
/// was by the accelerator's clock, and Vulkan's clock says when the timer had that value.
/// Errors: Unsupported (no CUDA device, or Vulkan's stamps are not of the timer that kernels read), the driver's.
Result<ClockAlignment> measure_alignment(accel::Device& accelerator, const vulkan::Device& display, std::int64_t count);

}  // namespace kinetograph::cli
