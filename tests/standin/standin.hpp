// Stand-ins for the HIP runtime and the CUDA driver: shared libraries with the entry points that engine/accel uses and
// their documented behaviour, on threads of the host. This header is what a test sees of one: which device it plays,
// which faults it injects, and what it has been asked to do.
//
// It is stricter than a driver where that shows a mistake: device memory cannot be read or written by the host (it is
// mapped only while work of a stream runs), new memory holds 0xFF, pinned memory has another address on the device than
// on the host, callbacks of all streams run on one thread at a time, and arguments must have the kernel's size.
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

/// Answers `status` instead of doing the `call`-th call (1: the next one) of `entry_point`.
struct Injection {
    std::string entry_point;
    std::uint32_t call = 1;
    Status status;
};

/// What begins a file whose memory is imported: nothing, or how long it is and where its data begin.
enum class MemoryFiles : std::uint8_t { Plain, Lavapipe };

struct Options {
    int devices = 1;                                     ///< 0: there is no device
    std::uint64_t memory_bytes = 4ULL << 30U;            ///< of a device; reserved, not touched
    std::string name{};                                  ///< empty: "Stand-in MI355X" or "Stand-in H200"
    std::string architecture{};                          ///< empty: "gfx950:sramecc+:xnack-" or "sm_90"
    std::uint8_t uuid_byte = 0x5A;                       ///< all sixteen bytes of device 0; the next device counts on
    std::optional<std::array<std::uint8_t, 16>> uuid{};  ///< of device 0 instead (CUDA): it is another API's device too
    bool waits_for_values = true;             ///< streams wait for values in memory (HIP asks whether they can)
    bool registers_host_memory = true;        ///< the device addresses registered memory
    std::optional<bool> imports_timelines{};  ///< unset: CUDA does; the calls of HIP never do, whatever is said here
    MemoryFiles files = MemoryFiles::Plain;   ///< of imported memory
    double clock_drift_ppm = 60;              ///< of the device's clock against the host's
    /// Pieces of work that a stream holds; 0: any number. The call that enqueues one more stands still until there is
    /// room, and with it every other call of the library.
    std::size_t queue_depth = 0;
    std::uint32_t faulting_launch = 0;  ///< the n-th kernel from now fails while it runs; 0: none
    std::uint64_t jitter_seed = 1;      ///< of the small pauses between work; 0: none
    std::vector<Injection> injections{};
};

/// A timeline semaphore that another API has exported.
class ExternalCounter {
  public:
    virtual ~ExternalCounter() = default;
    virtual std::uint64_t value() const = 0;
    virtual void signal(std::uint64_t value) = 0;
};

/// Objects of the library that exist now: all 0 when everything has been released.
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
    /// From here on: other options, counters at zero, no complaints, a healthy device. Nothing may be alive.
    virtual void reset(const Options& options) = 0;
    virtual std::uint64_t calls(std::string_view entry_point) const = 0;  ///< since reset()
    virtual std::uint64_t calls() const = 0;                              ///< of all entry points
    virtual std::uint64_t kernels_run() const = 0;
    virtual Live live() const = 0;
    /// What a driver would have let pass or called an error without a reason; one sentence each.
    virtual std::vector<std::string> complaints() const = 0;
    /// What importing a semaphore's descriptor yields; null: refused. Until it is called, and after reset(), a
    /// descriptor is a file of memory that holds the value.
    virtual void import_semaphores(std::function<std::shared_ptr<ExternalCounter>(int fd)> import) = 0;
};

using ControlFunction = Control* (*)();
inline constexpr const char* kControlSymbol = "standin_control";

/// Accepted in place of device code, where a build has no compiler for it: it holds every kernel that the library
/// knows.
inline constexpr std::string_view kPlaceholderImage = "kinetograph stand-in: placeholder for device code\n";
inline bool is_placeholder(const void* image) {
    return std::strncmp(static_cast<const char*>(image), kPlaceholderImage.data(), kPlaceholderImage.size()) == 0;
}
inline std::span<const std::byte> placeholder_image() { return std::as_bytes(std::span(kPlaceholderImage)); }

/// Parameters of the kernels that the library itself brings, for tests of the accelerator.
/// "standin_scale_add": out[i] = scale * in[i] + offset, one thread an element.
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
/// "sum_in_shared": adds up numbers in one block, in as much dynamic shared memory as they take.
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
