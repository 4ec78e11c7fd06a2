// Clock alignment: how far apart one moment of a GPU lies when CUDA and when Vulkan say it.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/tools/kinetograph/bench.hpp>

namespace kinetograph::cli {

struct ClockAlignment {
    Nanoseconds accelerator_error{}, vulkan_error{};  ///< as each lane states it of its own clock, at the end
    Samples distance;                                 ///< between the two statements, seconds
    Samples width;  ///< of the interval that the accelerator states; the distance is from its middle
    /// Of the distance over half that interval and both stated errors at that moment: positive where they are no bound.
    Samples excess;
};

/// A kernel writes the GPU's timer, which Vulkan's time stamps count too, between two events. The events say when that
/// was by the accelerator's clock, and Vulkan's clock says when the timer had that value.
/// Errors: Unsupported (no CUDA device, or Vulkan's stamps are not of the timer that kernels read), the driver's.
Result<ClockAlignment> measure_alignment(accel::Device& accelerator, const vulkan::Device& display, std::int64_t count);

}  // namespace kinetograph::cli
