// Accelerators by name: the one place that knows which kinds this build has.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>

#include <vector>

namespace kinetograph::accel {

/// One accelerator of this machine, or why there is none of a kind.
struct Availability {
    Kind kind = Kind::Cpu;
    std::uint32_t ordinal = 0;         ///< among the devices of its kind
    std::optional<DeviceInfo> device;  ///< what open() would give; empty: nothing
    std::string situation;             ///< one sentence: what serves it, or what is missing
    /// What open() knows it by: "cuda:1".
    std::string name() const;
};

/// Every device of every kind, the CPU first; the drivers of the others are opened to ask them.
std::vector<Availability> inspect_accelerators();

/// A device by its place among those of its kind, from 0. Errors: Unsupported (not in this build), NotFound
/// ("libamdhip64.so.7, ... not found: HIP lane off"), OutOfRange (no device of that ordinal), and what the driver says.
Result<std::unique_ptr<Device>> open(Kind kind, std::uint32_t ordinal = 0, const DeviceHooks& hooks = {});
/// The same by name: "cpu", "cuda", "hip:1", or by UUID, as `kinetograph info` and nvidia-smi write it:
/// "cuda:GPU-5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a5a". Errors also: InvalidArgument (no kind is called so; neither a
/// number nor a UUID), NotFound (no device has that UUID; the sentence lists those there are).
Result<std::unique_ptr<Device>> open(std::string_view device, const DeviceHooks& hooks = {});

/// A stream of the caller's (CUstream, hipStream_t; null is the default stream) as a stream of `device`:
/// cuda::adopt_stream and hip::adopt_stream. Errors: theirs; InvalidArgument (the CPU has no streams that a caller
/// could have).
Result<std::unique_ptr<Stream>> adopt_stream(Device& device, std::string_view name, void* stream);

/// That `device` reaches what lies at an address of the caller's: its own memory, or the host's that its driver knows.
/// Errors: InvalidArgument (other memory of the host, another device's; never on the CPU), what the driver says.
Result<void> check_address(Device& device, const std::byte* address);

/// Whether such a stream is in a capture: what it is given then happens with the replays of a graph, and not now. False
/// on the CPU. Errors: what the driver says.
Result<bool> is_capturing(Device& device, void* stream);

/// "GPU-5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a5a"
std::string uuid_text(const DeviceInfo& device);

}  // namespace kinetograph::accel
