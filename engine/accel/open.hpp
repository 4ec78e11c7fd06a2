// Accelerators by name: the one place that knows which kinds this build has.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>

#include <vector>

namespace kinetograph::accel {

/// One accelerator of this machine, or why there is none of a kind.
struct Availability {
    Kind kind = Kind::Cpu;
    std::uint32_t ordinal = 0;         ///< among the devices of its kind
    std::optional<DeviceInfo> device;  ///< what open() would return; empty: it would fail
    std::string situation;             ///< one sentence: what serves it, or what is missing
    /// Its name for open(): "cuda:1".
    std::string name() const;
};

/// Every device of every kind, the CPU first; the drivers of the others are opened to ask them.
std::vector<Availability> inspect_accelerators();

/// A device by its place among those of its kind, from 0. Errors: Unsupported (not in this build), NotFound
/// ("libamdhip64.so.7, ... not found: HIP lane off"), OutOfRange (no device of that ordinal), InvalidArgument (a CPU,
/// and KINETOGRAPH_CPU names no instructions), and what the driver says.
Result<std::unique_ptr<Device>> open(Kind kind, std::uint32_t ordinal = 0, const DeviceHooks& hooks = {});
/// The same by name: "cpu", "cuda", "hip:1", or by UUID, as `kinetograph info` and nvidia-smi write it:
/// "cuda:GPU-5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a5a". Errors also: InvalidArgument (no kind is called so; neither a
/// number nor a UUID), NotFound (no device has that UUID; the sentence lists those there are).
Result<std::unique_ptr<Device>> open(std::string_view device, const DeviceHooks& hooks = {});

/// Makes a stream of `device` from the caller's (CUstream, hipStream_t; null is the default stream): see
/// cuda::adopt_stream and hip::adopt_stream. Errors: theirs; InvalidArgument (a CPU device: no stream of it can be the
/// caller's).
Result<std::unique_ptr<Stream>> adopt_stream(Device& device, std::string_view name, void* stream);

/// Checks that `device` can access a caller's address: in its own memory, or in host memory that its driver knows.
/// Errors: InvalidArgument (other memory of the host, another device's; never on the CPU), what the driver says.
Result<void> check_address(Device& device, const std::byte* address);

/// Whether the caller's stream is in a capture: work enqueued on it is then run by replays of a graph, not now. False
/// on the CPU. Errors: what the driver says.
Result<bool> is_capturing(Device& device, void* stream);

/// Makes `device` current on the calling thread, one of the library's own, until that ends: calls of its driver are
/// cheaper there. Does nothing on the CPU.
void enter_thread(Device& device);

/// "GPU-5a5a5a5a-5a5a-5a5a-5a5a-5a5a5a5a5a5a"
std::string uuid_text(const DeviceInfo& device);

}  // namespace kinetograph::accel
