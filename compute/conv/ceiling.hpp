// What a device can do at best, measured with what decodes on it: the rooflines of the profiler.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/profile/recorder.hpp>

namespace kinetograph::conv {

/// Operations: the best of several runs of a large bf16 convolution with as many input as output channels, by the
/// method that dispatch chooses. Bytes: the best of several copies, read and written, that exceed the caches. The best
/// kernel that is here sets the ceiling: another library's may be higher. Takes a tenth of a second on a CPU,
/// milliseconds and as long as loading a kernel takes on a GPU; nothing else should run there. On a GPU the work
/// grows in steps, and ends early where a small one is slow. Holds at most 512 MiB on a GPU, 128 MiB on a CPU while it
/// runs. Errors: OutOfMemory, the device's.
Result<profile::Ceiling> measure_ceiling(accel::Device& device);

}  // namespace kinetograph::conv
