// The accelerator interface: what compute passes need from a device. The back ends that answer it are a table
// (backend.hpp).
#pragma once

#include <kinetograph/engine/accel/kernel_cache.hpp>
#include <kinetograph/engine/accel/memory_budget.hpp>
#include <kinetograph/engine/base/clock.hpp>
#include <kinetograph/engine/base/host_pages.hpp>
#include <kinetograph/engine/base/log.hpp>
#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/engine/graph/timeline.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace kinetograph::accel {

class TensorMapEncoder;

/// Something that a device may be able to do, as the device and its driver report it.
struct Capability {
    bool available = false;
    std::string reason;  ///< why not, in one sentence that names what declined; empty if available
    explicit operator bool() const { return available; }
};

struct PciAddress {
    std::uint32_t domain = 0, bus = 0, device = 0;
    friend bool operator==(const PciAddress&, const PciAddress&) = default;
};

struct DeviceInfo {
    static constexpr std::string_view kHost = "cpu";
    std::string_view kind = kHost;  ///< Backend::name of the back end that serves it
    std::string name;               ///< "AMD EPYC ...", "NVIDIA H200", "AMD Instinct MI355X"
    std::string driver;             ///< library and version that serves it
    std::string features;      ///< instruction sets or architecture: "avx512_bf16", "sm_90", "gfx950:sramecc+:xnack-"
    std::string architecture;  ///< what a kernel image must be built for: "gfx950", "sm_90"; empty for the CPU
    std::array<std::uint8_t, 16>
        uuid{};  ///< equal to VkPhysicalDeviceIDProperties::deviceUUID for the same GPU; zero for the CPU
    /// Where VK_EXT_pci_bus_info finds the same GPU: HIP's UUIDs are not those of every Vulkan driver for AMD GPUs.
    std::optional<PciAddress> pci;
    std::uint64_t memory_bytes = 0;
    std::uint32_t compute_units = 0;           ///< threads of the CPU, SMs or CUs of a GPU; 0: unknown
    std::uint32_t shared_bytes_per_block = 0;  ///< largest shared memory (LDS) of one block; 0 for the CPU
    /// Clusters of 2, 4 and 8 blocks that run at once if each block fills a compute unit, as the driver of the opened
    /// device answers; 0: it was not asked or has no answer.
    std::array<std::uint32_t, 3> resident_clusters{};
    bool emulated = false;  ///< a driver of GPUs computes on the CPU (lavapipe): only named, never taken by `auto`

    Capability can_load;             ///< Device::load and Stream::launch(Launch)
    Capability can_capture;          ///< Stream::begin_capture and Stream::replay
    Capability can_time_graphs;      ///< events recorded during capture are stamped anew by every replay
    Capability can_import_host;      ///< Device::import_host
    Capability can_import_memory;    ///< Device::import_memory
    Capability can_import_timeline;  ///< Device::import_timeline; otherwise a thread of the host relays values

    /// Whether it is the CPU: kernels are host functions, and every address of the host is a device address.
    bool is_host() const { return kind == kHost; }
};

using graph::Timeline;  ///< signalled and waited for by streams too

/// A point in a stream's work, with its time on the host axis (clock.hpp).
class Event {
  public:
    virtual ~Event() = default;
    /// Empty until the stream has passed the event. An event that a graph records keeps the time of the previous replay
    /// until the next replay has passed it: ask only after a later event or value of the stream has been reached.
    virtual std::optional<Nanoseconds> time() const = 0;
    virtual const void* owner() const = 0;  ///< see Timeline::owner()
};

/// Memory that a device can address. Released on destruction, so it must outlive the work that uses it.
/// Zero-initialised by Device::allocate on the CPU; contents undefined elsewhere.
class Memory {
  public:
    virtual ~Memory() = default;
    virtual std::byte* data() const = 0;  ///< device address; for kernels, fill, copy, upload and read_back
    /// The host's address of the same bytes; null where the host cannot access them (memory of a GPU).
    virtual std::byte* host_data() const = 0;
    virtual std::uint64_t bytes() const = 0;
};

/// What an image says about one of its kernels.
struct KernelInfo {
    std::string name;
    std::uint32_t max_threads = 0;                ///< per block
    std::uint32_t static_shared_bytes = 0;        ///< per block, without Launch::dynamic_shared_bytes
    std::optional<std::uint32_t> registers;       ///< per thread, if the driver reports it (gfx950: VGPRs and AGPRs)
    std::optional<std::uint32_t> scratch_bytes;   ///< per thread: spills and stack, if the driver reports it
    std::optional<std::uint32_t> argument_bytes;  ///< size of the arguments, if the image states it; launches check it
};

/// An entry point of a Module, which it keeps loaded. Must outlive the work that launches it.
class Kernel {
  public:
    virtual ~Kernel() = default;
    virtual const KernelInfo& info() const = 0;
    virtual const void* owner() const = 0;  ///< see Timeline::owner()
};

/// Device code, loaded.
class Module {
  public:
    virtual ~Module() = default;
    /// Errors: NotFound (no kernel of that name; the sentence names module and kernel).
    virtual Result<std::shared_ptr<Kernel>> kernel(std::string_view name) = 0;
};

struct Extent3 {
    std::uint32_t x = 1, y = 1, z = 1;
    std::uint64_t volume() const { return static_cast<std::uint64_t>(x) * y * z; }
    friend bool operator==(const Extent3&, const Extent3&) = default;
};

/// One launch of a kernel. Kernels take exactly one parameter: a struct by value, whose bytes are `arguments`.
struct Launch {
    std::string_view name;  ///< of the pass, for errors: "up2.res1.conv1"
    Kernel& kernel;
    Extent3 grid;                            ///< blocks
    Extent3 block;                           ///< threads
    Extent3 cluster{};                       ///< blocks; must be (1, 1, 1) where blocks are not clustered
    std::uint32_t dynamic_shared_bytes = 0;  ///< per block
    std::span<const std::byte> arguments;    ///< copied by the call; see bytes_of()
};

/// A kernel's parameter struct as Launch::arguments. The device reads the host's bytes as they are.
template <class Params>
std::span<const std::byte> bytes_of(const Params& params) {
    static_assert(std::is_trivially_copyable_v<Params> && std::is_standard_layout_v<Params>);
    return std::as_bytes(std::span<const Params, 1>(&params, 1));
}

/// Work captured from a stream. Must outlive its replays. Only one replay runs on the device at a time: a second one
/// waits for the first.
class Graph {
  public:
    virtual ~Graph() = default;
    virtual std::size_t nodes() const = 0;  ///< launches, fills, copies and event records
    virtual const void* owner() const = 0;  ///< see Timeline::owner()
};

/// A queue of work, done in order. Every call but upload, read_back and synchronize returns before the work is done.
///
/// Errors: an error of a call or of the work itself stops the stream: later launches, fills, copies and host functions
/// are skipped until synchronize() has reported the first Error (on a GPU: those enqueued after it is known). Waits,
/// signals and event records still happen, so that no wait hangs. If the device does not signal a value, because it is
/// lost or refused to, the host does at the next status() or synchronize(), once no work before the value runs any
/// more; the timeline's status then says why. The sentence names the pass, the kernel, the driver's call and the
/// driver's name for the error: `up2.res1.conv1: launching "conv2d_bf16_128x128": hipModuleLaunchKernel:
/// hipErrorOutOfMemory (2)`. An error of running work (a kernel's illegal access) is noticed by a later call, and may
/// be reported under that call's name.
class Stream {
  public:
    virtual ~Stream() = default;
    /// Runs `work` on a thread of the host when all earlier work of this stream is done. On the CPU this is how kernels
    /// are launched. On a GPU it stalls the stream, and `work` must not call the device: for tests and hand-overs.
    virtual void enqueue(std::string_view name, std::function<Result<void>()> work) = 0;
    /// Errors: Unsupported (the CPU; a cluster where there are none), InvalidArgument (kernel of another device, no
    /// blocks or threads, more threads than the kernel's limit, arguments of another size than the kernel's), and what
    /// the driver says.
    virtual void launch(const Launch& launch) = 0;
    /// With zero bytes fill, copy, upload and read_back do nothing, and any address is accepted.
    virtual void fill(std::byte* address, std::byte value, std::uint64_t bytes) = 0;
    /// Between addresses of this device (Memory::data): its own memory, pinned, or imported. Ranges do not overlap.
    virtual void copy(std::byte* to, const std::byte* from, std::uint64_t bytes) = 0;
    /// Later work starts only once `timeline` has reached `value`.
    virtual void wait(std::shared_ptr<Timeline> timeline, std::uint64_t value) = 0;
    /// Raises `timeline` to `value` once all earlier work is done.
    virtual void signal(std::shared_ptr<Timeline> timeline, std::uint64_t value) = 0;
    /// Whether this stream can wait for the timeline: its device has created or imported it.
    virtual bool sees(const Timeline& timeline) const = 0;
    virtual void record(std::shared_ptr<Event> event) = 0;

    /// Until end_capture(), calls are recorded instead of executed. Launches, fills, copies and, if
    /// DeviceInfo::can_time_graphs, event records can be captured. Host functions, timelines, replays and blocking
    /// calls cannot: they make end_capture() fail, and none of the captured calls is executed.
    /// Errors: Unsupported (DeviceInfo::can_capture says why), InvalidArgument (capturing already).
    virtual Result<void> begin_capture() = 0;
    /// Errors: Unsupported (names what cannot be captured), those of the captured calls. The stream then continues as
    /// if the calls since begin_capture() had not been made.
    virtual Result<std::shared_ptr<Graph>> end_capture() = 0;
    virtual void replay(Graph& graph) = 0;

    /// Copies ordinary host memory to the device, and back, after all earlier work; blocks the host until it is done.
    /// For loading, tests and tools: steady-state work copies from pinned memory. Errors: as synchronize().
    virtual Result<void> upload(std::byte* to, std::span<const std::byte> from) = 0;
    virtual Result<void> read_back(std::span<std::byte> to, const std::byte* from) = 0;

    /// The first Error since the last synchronize(), without waiting for the stream. Any thread.
    virtual Result<void> status() const = 0;
    /// The same, as far as it is already known: does not ask the driver, whose calls may block while its queue is full.
    /// Any thread.
    virtual Result<void> noted() const = 0;
    /// Whether a thread of the host is executing work of the stream. False on a GPU, whose work the host does not see.
    virtual bool executes_on_host() const { return false; }
    /// Blocks the host until the stream is empty. Returns and clears the first Error since the last call.
    virtual Result<void> synchronize() = 0;

    /// Called on a released stream in place of its destruction, because its work does not end. Until it has
    /// ended, the stream stays, and whatever would be released on its device is leaked. Not for work on the host.
    virtual void give_up() {}
};

/// Memory of another API on the same GPU, as a POSIX file descriptor (VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT).
struct ExternalMemoryDesc {
    int fd = -1;              ///< belongs to the device once the import has succeeded, to the caller until then
    std::uint64_t bytes = 0;  ///< of the whole allocation
    bool dedicated = false;   ///< allocated for one image or buffer (VkMemoryDedicatedAllocateInfo)
};

/// What an application supplies when it opens a device. All of it is optional.
struct DeviceHooks {
    Log log{};              ///< for what cannot be returned to a caller: a lost device, work that was given up
    HostAllocator host{};   ///< for what a CPU device allocates
    MemoryBudget budget{};  ///< until Device::set_budget()
};

/// The accuracy of Event::time() on the host's axis.
struct ClockQuality {
    Nanoseconds error{};     ///< upper bound
    double drift_ppm = 0.0;  ///< of the device's clock
};

class Device {
  public:
    virtual ~Device() = default;
    virtual const DeviceInfo& info() const = 0;
    /// Empty if events are stamped with the host's clock, and before the first event.
    virtual std::optional<ClockQuality> clock_quality() const { return std::nullopt; }
    const Log& log() const { return log_; }
    /// Further devices that were opened with this one (open(), "cuda:0+cuda:1"), over which models split their steps.
    const std::vector<std::unique_ptr<Device>>& companions() const { return companions_; }
    void add_companion(std::unique_ptr<Device> device) { companions_.push_back(std::move(device)); }
    /// Makes the device current on the calling thread, one of the library's own, until that ends: calls of its driver
    /// are cheaper there. Does nothing where calls need no such thing.
    virtual void enter_thread() {}

    /// The address is aligned to 4096 bytes on the CPU, to at least 256 elsewhere. Errors: OutOfMemory, with the sizes
    /// requested and free, if MemoryBudget::on_pressure has not made room.
    virtual Result<std::unique_ptr<Memory>> allocate(std::string_view name, std::uint64_t bytes) = 0;
    /// Host memory that the device addresses too, page-aligned, coherent with the host once a timeline or synchronize()
    /// has ordered the accesses. Errors: OutOfMemory.
    virtual Result<std::unique_ptr<Memory>> allocate_pinned(std::string_view name, std::uint64_t bytes) = 0;
    /// Makes the caller's host memory addressable by the device, for as long as the result lives; `memory` outlives it.
    /// Start and size are multiples of the page size. Errors: Unsupported, InvalidArgument (alignment), what the driver
    /// says.
    virtual Result<std::unique_ptr<Memory>> import_host(std::string_view name, std::span<std::byte> memory) = 0;
    /// Errors: Unsupported (DeviceInfo::can_import_memory says why), what the driver says.
    virtual Result<std::unique_ptr<Memory>> import_memory(std::string_view name, const ExternalMemoryDesc& desc) = 0;

    virtual Result<std::unique_ptr<Stream>> create_stream(std::string_view name) = 0;
    /// Makes a stream from the caller's own of this device, which the back end's device.hpp describes: work enqueued
    /// here is ordered with the caller's. The caller keeps it and may destroy it once nothing more is enqueued; the
    /// result then only waits for the signals that it was given. Errors: InvalidArgument (no stream of this device can
    /// be the caller's; a stream of another device), what the driver says.
    virtual Result<std::unique_ptr<Stream>> adopt_stream(std::string_view name, void* stream);
    /// Whether the caller's stream is in a capture: work enqueued on it is then run by replays of a graph, not now.
    /// Errors: what the driver says.
    virtual Result<bool> is_capturing(void* /*stream*/) { return false; }
    /// Checks that the device can access a caller's address: in its own memory, or in host memory that its driver
    /// knows. Errors: InvalidArgument (other memory of the host, another device's; never on the CPU), what the driver
    /// says.
    virtual Result<void> check_address(const std::byte* /*address*/) { return {}; }
    /// Lets this device's kernels and copies address what `other` allocates, now and later. Errors: Unsupported (they
    /// cannot, with the reason), what the driver says.
    virtual Result<void> reach(Device& other);
    virtual Result<std::shared_ptr<Timeline>> create_timeline() = 0;
    /// A timeline semaphore of another API (VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT); `fd` belongs to the
    /// device once this has succeeded. `original` is the exporter's timeline of the same semaphore, through which the
    /// host reads, waits for and signals it. Errors: Unsupported (DeviceInfo::can_import_timeline says why), what the
    /// driver says.
    virtual Result<std::shared_ptr<Timeline>> import_timeline(int fd, std::shared_ptr<Timeline> original) = 0;
    virtual Result<std::shared_ptr<Event>> create_event() = 0;

    /// Loads device code of one of its back end's formats (Backend::image_formats). `image` is needed only during the
    /// call. `name` is for errors. The module keeps alive what it uses of the device. Errors: Unsupported (the CPU; no
    /// code for this architecture, naming both), Corrupt, what the driver says.
    virtual Result<std::shared_ptr<Module>> load(std::string_view name, std::span<const std::byte> image) = 0;
    /// The kernels that callers have asked for by name, loaded until the device ends.
    KernelCache& kernels() { return kernels_; }
    /// What encodes tensor maps for its kernels; null if they take none.
    virtual const TensorMapEncoder* encoder() const { return nullptr; }

    /// Bytes of allocate() that are held now. On the CPU also those of allocate_pinned(), which come from the same
    /// memory.
    virtual std::uint64_t bytes_allocated() const = 0;
    virtual std::uint64_t peak_bytes() const = 0;  ///< largest bytes_allocated() so far
    /// Bytes that allocate() can hand out now: those that the driver reports as free (for the CPU:
    /// available_host_memory()), or what the budget leaves, if that is less.
    virtual std::uint64_t bytes_free() const = 0;
    virtual std::uint64_t budget_bytes() const = 0;  ///< MemoryBudget::bytes; 0: none
    /// Applies to later allocations; memory held already is kept, even beyond the budget. Any thread.
    virtual void set_budget(MemoryBudget budget) = 0;

  protected:
    explicit Device(Log log = {}) : log_(std::move(log)) {}

  private:
    Log log_;
    std::vector<std::unique_ptr<Device>> companions_;
    KernelCache kernels_{*this};
};

/// Of a device and its companions: "NVIDIA H200 + NVIDIA H200".
std::string names(const Device& device);

}  // namespace kinetograph::accel
