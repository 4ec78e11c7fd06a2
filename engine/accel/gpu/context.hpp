// Context: one GPU and the calls of its driver, shared by everything made on it; cuda/, hip/ and vulkan/ implement it.
#pragma once

#include <kinetograph/engine/accel/gpu/driver_types.hpp>
#include <kinetograph/engine/accel/gpu/given_up_work.hpp>
#include <kinetograph/engine/accel/ledger.hpp>

#include <kinetograph/engine/accel/accelerator.hpp>

namespace kinetograph::accel::gpu {

class EventClock;

/// Lives as long as the last object of its device.
///
/// Every call makes the device current on the calling thread, as its API requires. Errors are the driver's, preceded by
/// the call's name: "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2)"; the caller adds what it was for. Calls that release
/// report no errors: the driver releases everything when the process ends.
class Context {
  public:
    virtual ~Context() = default;
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    const DeviceInfo& info() const { return info_; }
    Ledger& ledger() { return ledger_; }
    GivenUpWork& given_up() { return given_up_; }

    virtual void enter_thread() = 0;                                     ///< see Device
    virtual const TensorMapEncoder* encoder() const { return nullptr; }  ///< see Device
    /// Errors: InvalidArgument (a stream of another context), what the driver says.
    virtual Result<void> check_adopted(StreamHandle /*stream*/) const { return {}; }

    struct MemoryLeft {
        std::uint64_t free = 0, total = 0;  ///< bytes
    };
    virtual Result<std::byte*> allocate(std::uint64_t bytes) = 0;
    virtual MemoryLeft memory_left() = 0;
    virtual void release(std::byte* address) = 0;  ///< allocated or mapped
    /// Pinned memory for every device of the driver, by its address on the host.
    virtual Result<std::byte*> allocate_pinned(std::uint64_t bytes) = 0;
    virtual void release_pinned(std::byte* host) = 0;
    virtual Result<void> register_host(std::span<std::byte> memory) = 0;
    virtual void unregister_host(std::byte* host) = 0;
    virtual Result<std::byte*> device_address(std::byte* host) = 0;    ///< of pinned or registered memory
    virtual Result<void> check_address(const std::byte* address) = 0;  ///< see Device
    /// Leaves the descriptor to the caller.
    virtual Result<ExternalMemoryHandle> import_memory(const ExternalMemoryDesc& desc) = 0;
    virtual Result<std::byte*> map(ExternalMemoryHandle memory, std::uint64_t bytes) = 0;
    virtual void release(ExternalMemoryHandle memory) = 0;

    /// See Device::reach; `other` is any GPU's context.
    virtual Result<void> reach(const Context& other) {
        return fail(ErrorCode::Unsupported, "{} does not reach the memory of {}", info_.name, other.info_.name);
    }
    /// Timeline::owner() of the timelines that its streams wait for and signal.
    virtual const void* timelines() const { return this; }
    /// The same of counters, which streams of further devices may see.
    virtual const void* counters() const { return timelines(); }
    /// `self` is this, for the timeline to keep. Errors also: Unsupported (streams of the device cannot wait for
    /// values).
    virtual Result<std::shared_ptr<Timeline>> create_timeline(std::shared_ptr<Context> self) = 0;
    /// See Device::import_timeline.
    virtual Result<std::shared_ptr<Timeline>> import_timeline(std::shared_ptr<Context> self, int fd,
                                                              std::shared_ptr<Timeline> original) = 0;
    virtual Result<void> wait(StreamHandle stream, const std::shared_ptr<Timeline>& timeline, std::uint64_t value) = 0;
    virtual Result<void> signal(StreamHandle stream, const std::shared_ptr<Timeline>& timeline,
                                std::uint64_t value) = 0;

    virtual Result<StreamHandle> create_stream() = 0;
    virtual void release(StreamHandle stream) = 0;
    /// Its work does not end: what has not reached the device is dropped. The stream is released if the rest has ended.
    virtual void give_up(StreamHandle /*stream*/) {}
    virtual Result<bool> is_idle(StreamHandle stream) = 0;
    virtual Result<void> synchronize(StreamHandle stream) = 0;
    virtual Result<void> run_on_host(StreamHandle stream, HostFunction function, void* user_data) = 0;
    /// Errors also: Unsupported, InvalidArgument (what only this API's devices decline).
    virtual Result<void> launch(StreamHandle stream, const Launch& launch, FunctionHandle function) = 0;
    virtual Result<void> fill(StreamHandle stream, std::byte* address, std::byte value, std::uint64_t bytes) = 0;
    virtual Result<void> copy(StreamHandle stream, std::byte* to, const std::byte* from, std::uint64_t bytes) = 0;
    /// From and to ordinary memory of the host, which stays as it is until the stream has been synchronized.
    virtual Result<void> upload(StreamHandle stream, std::byte* to, std::span<const std::byte> from) {
        return copy(stream, to, from.data(), from.size());
    }
    virtual Result<void> read_back(StreamHandle stream, std::span<std::byte> to, const std::byte* from) {
        return copy(stream, to.data(), from, to.size());
    }

    /// Whether the stream is in a capture, valid or invalidated, so that work becomes part of a graph instead of being
    /// run; false where a driver cannot tell.
    virtual Result<bool> is_capturing(StreamHandle stream) = 0;
    virtual Result<void> begin_capture(StreamHandle stream) = 0;
    virtual Result<GraphHandle> end_capture(StreamHandle stream) = 0;
    virtual Result<std::size_t> count_nodes(GraphHandle graph) = 0;
    /// The graph may be uploaded to the device on `stream`; replays may be on any stream.
    virtual Result<GraphExecHandle> instantiate(GraphHandle graph, StreamHandle stream) = 0;
    virtual Result<void> replay(StreamHandle stream, GraphExecHandle graph) = 0;
    virtual void release(GraphHandle graph) = 0;
    virtual void release(GraphExecHandle graph) = 0;

    virtual Result<EventHandle> create_event() = 0;
    virtual void release(EventHandle event) = 0;
    virtual Result<void> record(StreamHandle stream, EventHandle event) = 0;
    /// Adds a node to the capture of `stream` that stamps the event in every replay.
    virtual Result<void> capture_record(StreamHandle stream, EventHandle event) = 0;
    /// What tells the host's time of its events; `self` is this, for the clock to keep.
    virtual Result<std::shared_ptr<EventClock>> start_clock(std::shared_ptr<Context> self) = 0;

    /// `self` is this, for the module to keep. Errors: those of Device::load.
    virtual Result<std::shared_ptr<Module>> load(std::shared_ptr<Context> self, std::string_view name,
                                                 std::span<const std::byte> image) = 0;

  protected:
    explicit Context(DeviceInfo info) : info_(std::move(info)) {}
    DeviceInfo& described() { return info_; }  ///< for what only the opened device answers

  private:
    DeviceInfo info_;
    Ledger ledger_;
    GivenUpWork given_up_;
};

}  // namespace kinetograph::accel::gpu
