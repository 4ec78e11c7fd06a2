// Stand-ins for the HIP runtime and the CUDA driver: shared libraries with the entry points that engine/accel uses and
// their documented behaviour, on threads of the host. This header is a test's interface to one: which device it poses
// as, which faults it injects, and which calls it has received.
//
// It is stricter than a driver, to expose errors: the host cannot read or write device memory (it is mapped only while
// a stream's work runs), new memory holds 0xFF, pinned memory has different addresses on device and host, callbacks of
// all streams run on one thread, one at a time, and arguments must have the kernel's size.
#pragma once

#include <kinetograph/tests/standin/status.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kinetograph::standin {

/// Returns `status` instead of executing the `call`-th call (1: the next one) of `entry_point`.
struct Injection {
    std::string entry_point;
    std::uint32_t call = 1;
    Status status;
};

/// The header of a file whose memory is imported: none (Plain), or the file's size and its data's offset (Lavapipe).
enum class MemoryFiles : std::uint8_t { Plain, Lavapipe };

struct Options {
    int devices = 1;                           ///< 0: there is no device
    std::uint64_t memory_bytes = 4ULL << 30U;  ///< of a device; reserved, not touched
    std::string name{};                        ///< empty: "Stand-in MI355X" or "Stand-in H200"
    std::string architecture{};                ///< empty: "gfx950:sramecc+:xnack-" or "sm_90"
    std::uint32_t compute_units = 0;           ///< of a HIP device, which may be a partition; 0: 256, an MI355X's
    /// SMs of each GPC of a CUDA device, none of which a cluster leaves. Empty: 132 SMs that clusters can all use.
    std::vector<std::uint32_t> gpcs{};
    std::uint8_t uuid_byte = 0x5A;  ///< all sixteen bytes of device 0; incremented for each next device
    std::optional<std::array<std::uint8_t, 16>>
        uuid{};                               ///< of device 0 instead (CUDA), if it is also another API's device
    bool waits_for_values = true;             ///< streams can wait for values in memory (HIP asks whether they can)
    bool registers_host_memory = true;        ///< the device can address registered memory
    std::optional<bool> imports_timelines{};  ///< unset: CUDA does; HIP's calls never do
    bool reaches_peers = true;                ///< a device can address the memory of another
    MemoryFiles files = MemoryFiles::Plain;   ///< of imported memory
    double clock_drift_ppm = 60;              ///< of the device's clock against the host's
    /// Work that a stream holds; 0: unlimited. The call that enqueues more blocks until there is room, and with it
    /// every other call of the library.
    std::size_t queue_depth = 0;
    /// Number of queues, which are assigned to streams in turn. A queue does its work in order: a wait at its head
    /// holds up all of its streams. 0: every stream has a queue of its own.
    std::size_t hardware_queues = 0;
    std::uint32_t faulting_launch = 0;  ///< the n-th kernel from now fails while it runs; 0: none
    std::string idle_kernel{};          ///< one that does nothing, so that its results are wrong
    std::string hanging_kernel{};       ///< one that never ends
    std::uint64_t jitter_seed = 1;      ///< of the small pauses between work; 0: none
    std::vector<Injection> injections{};
};

/// A timeline semaphore exported by another API.
class ExternalCounter {
  public:
    virtual ~ExternalCounter() = default;
    virtual std::uint64_t value() const = 0;
    virtual void signal(std::uint64_t value) = 0;
};

/// Live objects of the library: all 0 when everything has been released.
struct Live {
    std::size_t streams = 0, events = 0, modules = 0, graphs = 0, graph_execs = 0;
    std::size_t device_allocations = 0, pinned_allocations = 0, registrations = 0;
    std::size_t imports = 0, semaphores = 0, contexts = 0;
    friend bool operator==(const Live&, const Live&) = default;
};

/// Reached by standin_control() of the loaded library.
class Control {
  public:
    virtual ~Control() = default;
    /// Starts over: new options, counters at zero, no complaints, a healthy device. No object may be alive.
    virtual void reset(const Options& options) = 0;
    virtual std::uint64_t calls(std::string_view entry_point) const = 0;  ///< since reset()
    virtual std::uint64_t calls() const = 0;                              ///< of all entry points
    virtual std::uint64_t kernels_run() const = 0;
    virtual Live live() const = 0;
    /// Errors that a driver would have ignored or reported without a reason; one sentence each.
    virtual std::vector<std::string> complaints() const = 0;
    /// The result of importing a semaphore's descriptor; null: refused. By default, and after reset(), a descriptor is
    /// a memory file that holds the value.
    virtual void import_semaphores(std::function<std::shared_ptr<ExternalCounter>(int fd)> import) = 0;
    /// True: copies to pinned memory block their stream until this is called with false. reset() sets false.
    virtual void hold_copies_to_host(bool hold) = 0;
    /// The device fails now, as by a kernel's fault.
    virtual void fail() = 0;
    /// Adds an injection, whose calls count from now.
    virtual void inject(const Injection& injection) = 0;
};

using ControlFunction = Control* (*)();
inline constexpr const char* kControlSymbol = "standin_control";

/// Accepted in place of device code in builds without a compiler for it: it contains every kernel that the library has.
inline constexpr std::string_view kPlaceholderImage = "kinetograph stand-in: placeholder for device code\n";
inline bool is_placeholder(const void* image) {
    return std::strncmp(static_cast<const char*>(image), kPlaceholderImage.data(), kPlaceholderImage.size()) == 0;
}
inline std::span<const std::byte> placeholder_image() { return std::as_bytes(std::span(kPlaceholderImage)); }

/// Parameters of the library's own kernels, for tests of the accelerator. "standin_scale_add": out[i] = scale * in[i] +
/// offset, one thread per element.
struct ScaleAddParams {
    const float* in;
    float* out;
    std::uint32_t count;
    float scale;
    float offset;
};
/// "standin_spin": keeps the device busy.
struct SpinParams {
    std::uint64_t nanoseconds;
};
/// "sum_in_shared": adds numbers in one block, in as much dynamic shared memory as they take.
struct SharedSumParams {
    const float* in;
    float* out;
    std::uint32_t count;
};
/// "write_cluster_rank": every block of a row writes its rank in its cluster.
struct ClusterRankParams {
    std::uint32_t* out;  ///< one a block
};

}  // namespace kinetograph::standin
