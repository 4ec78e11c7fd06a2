// The peak rates of a device, measured with the library's own kernels: the rooflines of the profiler.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/profile/recorder.hpp>

namespace kinetograph::conv {

/// Measures what a device can do at best. Operations: the best of several runs of a large bf16 convolution with as many
/// input as output channels, by the method that dispatch chooses. Bytes: the best of several copies larger than the
/// caches; bytes read and bytes written both count. Another library's kernels may reach more. Takes a tenth of a second
/// on a CPU; on a GPU a few milliseconds and the time to load a kernel. Nothing else should run on the device. On a GPU
/// the work grows in steps and stops after the first slow one. Holds at most 512 MiB on a GPU, 128 MiB on a CPU while
/// it runs. Errors: OutOfMemory, and those of the device.
Result<profile::Ceiling> measure_ceiling(accel::Device& device);

}  // namespace kinetograph::conv
