// Accelerators by name.
#pragma once

#include <kinetograph/engine/accel/backend.hpp>

namespace kinetograph::accel {

/// One accelerator of this machine, or why there is none of a kind.
struct Availability {
    std::string_view kind;             ///< Backend::name
    std::uint32_t ordinal = 0;         ///< among the devices of its kind
    std::optional<DeviceInfo> device;  ///< what open() would return; empty: it would fail
    std::string situation;             ///< one sentence: what serves it, or what is missing
    /// Its name for open(): "cuda:1".
    std::string name() const;
};

/// Every device of every back end, the CPU first; the drivers of the others are opened to ask them.
std::vector<Availability> inspect_accelerators();

/// A device by name: "cpu", "cuda", "hip:1" (its place among those of its kind, from 0), or by UUID, as `kinetograph
/// info` and nvidia-smi write it: "cuda:GPU-5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a5a". Errors: NotFound
/// ("libamdhip64.so.7, ... not found: HIP lane off"; no device has that UUID, and the sentence lists those there are),
/// OutOfRange (no device of that ordinal), InvalidArgument (no kind is called so; neither a number nor a UUID; a CPU,
/// and KINETOGRAPH_CPU names no instructions), and what the driver says. "cuda:0+cuda:1+cpu" opens the first with the
/// others as its companions; errors then name the one.
Result<std::unique_ptr<Device>> open(std::string_view device, const DeviceHooks& hooks = {});
/// A device of that kind on the caller's own: see Backend::adopt. Errors: Unsupported (its devices are only opened),
/// those of the back end.
Result<std::unique_ptr<Device>> adopt(std::string_view kind, const void* callers, const DeviceHooks& hooks = {});

/// "GPU-5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a5a"
std::string uuid_text(const DeviceInfo& device);

}  // namespace kinetograph::accel
