// DriverContext: what the contexts of CUDA and HIP have in common, written over a table of their drivers' calls.
#pragma once

#include <kinetograph/engine/accel/gpu/counter_context.hpp>
#include <kinetograph/engine/accel/gpu/driver.hpp>

namespace kinetograph::accel::gpu {

/// The functions of a driver that have the same parameters in CUDA and HIP, by what they do.
template <class Status>
struct CommonCalls {
    template <class... Parameters>
    using Call = const EntryPoint<Status(Parameters...)>&;

    Call<std::size_t*, std::size_t*> memory_left;
    Call<void**, std::size_t, unsigned> allocate_pinned;
    Call<void*> release_pinned;
    Call<void*, std::size_t, unsigned> register_host;
    Call<void*> unregister_host;
    Call<ExternalMemoryHandle> release_memory;
    Call<ExternalSemaphoreHandle> release_semaphore;
    Call<const ExternalSemaphoreHandle*, const ExternalSemaphoreParams*, unsigned, StreamHandle> wait_semaphores;
    Call<const ExternalSemaphoreHandle*, const ExternalSemaphoreParams*, unsigned, StreamHandle> signal_semaphores;
    Call<StreamHandle*, unsigned> create_stream;
    Call<StreamHandle> release_stream;
    Call<StreamHandle> query_stream;
    Call<StreamHandle> synchronize_stream;
    Call<StreamHandle, HostFunction, void*> run_on_host;
    Call<StreamHandle, GraphHandle*> end_capture;
    Call<GraphHandle, GraphNodeHandle*, std::size_t*> graph_nodes;
    Call<GraphExecHandle, StreamHandle> replay;
    Call<GraphHandle> release_graph;
    Call<GraphExecHandle> release_exec;
    Call<EventHandle*, unsigned> create_event;
    Call<EventHandle> release_event;
    Call<EventHandle> query_event;
    Call<EventHandle> synchronize_event;
    Call<float*, EventHandle, EventHandle> elapsed_time;
};

/// `Final` derives from this. It supplies the other functions of gpu::CounterContext, and
///     kPinned    flags of memory that the host and all devices of the driver address
/// `Current` and `Uncaptured` are constructed from a `const Final&`: the device is current on this thread while they
/// live, and status() says whether it could be made so. Uncaptured is for calls that would spoil a capture by another
/// thread of the application.
template <class Final, class Api, class Current, class Uncaptured>
class DriverContext : public CounterContext {
  public:
    using Driver = gpu::Driver<Api>;
    using Status = typename Api::Status;
    const Driver& driver() const { return *driver_; }

    MemoryLeft memory_left() final {
        const Uncaptured current(self());
        std::size_t free = 0, total = 0;
        (void)calls_.memory_left(&free, &total);
        return {free, total};
    }
    Result<std::byte*> allocate_pinned(std::uint64_t bytes) final {
        const Uncaptured current(self());
        KG_CHECK(current.status());
        void* host = nullptr;
        KG_CHECK(driver_->call(calls_.allocate_pinned, &host, bytes, Final::kPinned));
        return static_cast<std::byte*>(host);
    }
    void release_pinned(std::byte* host) final { discard<Uncaptured>(calls_.release_pinned, host); }
    Result<void> register_host(std::span<std::byte> memory) final {
        const Uncaptured current(self());
        KG_CHECK(current.status());
        return driver_->call(calls_.register_host, memory.data(), memory.size(),
                             kHostRegisterPortable | kHostRegisterMapped);
    }
    void unregister_host(std::byte* host) final { discard<Uncaptured>(calls_.unregister_host, host); }

    using CounterContext::release;
    void release(ExternalMemoryHandle memory) final { discard<Uncaptured>(calls_.release_memory, memory); }
    void release(ExternalSemaphoreHandle semaphore) final { discard<Uncaptured>(calls_.release_semaphore, semaphore); }
    void release(StreamHandle stream) final { discard<Uncaptured>(calls_.release_stream, stream); }
    void release(GraphHandle graph) final { discard<Uncaptured>(calls_.release_graph, graph); }
    void release(GraphExecHandle graph) final { discard<Uncaptured>(calls_.release_exec, graph); }
    void release(EventHandle event) final { discard<Uncaptured>(calls_.release_event, event); }

    using CounterContext::signal;
    using CounterContext::wait;
    Result<void> wait(StreamHandle stream, ExternalSemaphoreHandle semaphore, std::uint64_t value) final {
        const Current current(self());
        KG_CHECK(current.status());
        ExternalSemaphoreParams params{};
        params.value = value;
        return driver_->call(calls_.wait_semaphores, &semaphore, &params, 1U, stream);
    }
    /// Called even if the device could not be made current: the call then fails, and the host signals.
    Result<void> signal(StreamHandle stream, ExternalSemaphoreHandle semaphore, std::uint64_t value) final {
        ExternalSemaphoreParams params{};
        params.value = value;
        return call<Current>(calls_.signal_semaphores, &semaphore, &params, 1U, stream);
    }

    Result<StreamHandle> create_stream() final {
        const Uncaptured current(self());
        KG_CHECK(current.status());
        StreamHandle stream = nullptr;
        KG_CHECK(driver_->call(calls_.create_stream, &stream, kStreamNonBlocking));
        return stream;
    }
    Result<bool> is_idle(StreamHandle stream) final {
        const Uncaptured current(self());
        const Status status = calls_.query_stream(stream);
        if (status == Status::Success || status == Status::NotReady) return status == Status::Success;
        return fail(driver_->error(status, calls_.query_stream.name()));
    }
    Result<void> synchronize(StreamHandle stream) final { return call<Uncaptured>(calls_.synchronize_stream, stream); }
    Result<void> run_on_host(StreamHandle stream, HostFunction function, void* user_data) final {
        return call<Current>(calls_.run_on_host, stream, function, user_data);
    }

    Result<GraphHandle> end_capture(StreamHandle stream) final {
        const Current current(self());
        GraphHandle graph = nullptr;
        auto ended = driver_->call(calls_.end_capture, stream, &graph);
        if (ended) return graph;
        if (graph != nullptr) (void)calls_.release_graph(graph);
        return fail(std::move(ended.error()));
    }
    Result<std::size_t> count_nodes(GraphHandle graph) final {
        std::size_t nodes = 0;
        KG_CHECK(call<Uncaptured>(calls_.graph_nodes, graph, nullptr, &nodes));
        return nodes;
    }
    Result<void> replay(StreamHandle stream, GraphExecHandle graph) final {
        return call<Current>(calls_.replay, graph, stream);
    }

    Result<EventHandle> create_event() final {
        const Current current(self());
        KG_CHECK(current.status());
        EventHandle event = nullptr;
        KG_CHECK(driver_->call(calls_.create_event, &event, kEventDefault));
        return event;
    }
    bool has_passed(EventHandle event) final {
        const Uncaptured current(self());
        return calls_.query_event(event) == Status::Success;
    }
    Result<void> synchronize(EventHandle event) final { return call<Uncaptured>(calls_.synchronize_event, event); }
    Result<double> nanoseconds(EventHandle from, EventHandle to) final {
        float milliseconds = 0;
        KG_CHECK(call<Uncaptured>(calls_.elapsed_time, &milliseconds, from, to));
        return static_cast<double>(milliseconds) * 1e6;
    }

  protected:
    /// `owner` is the ordinal of the device whose memory it is; none: the host's memory. Errors: those of
    /// check_address().
    Result<void> check_owner(const std::byte* address, std::optional<int> owner, int ordinal) const {
        if (!owner)
            return fail(ErrorCode::InvalidArgument,
                        "{} is ordinary memory of the host, at which {} does not reach: pinned memory and the device's "
                        "own are within its reach",
                        static_cast<const void*>(address), info().name);
        if (*owner != ordinal)
            return fail(ErrorCode::InvalidArgument, "{} is memory of {} device {}, and not of device {}, {}",
                        static_cast<const void*>(address), Final::kLane, *owner, ordinal, info().name);
        return {};
    }
    /// Asks `can_reach`(&answer, ordinal, peer), then lets `enable`(...) do it. Errors: those of Context::reach.
    template <class Can, class Enable, class... Arguments>
    Result<void> reach_peer(const Can& can_reach, const Enable& enable, int ordinal, int peer,
                            Arguments... arguments) const {
        if (const Capability can = driver_->has({&can_reach, &enable}); !can)
            return fail(ErrorCode::Unsupported, "{} devices do not reach each other's memory: {}", Final::kLane,
                        can.reason);
        const Uncaptured current(self());
        KG_CHECK(current.status());
        int answer = 0;
        KG_CHECK(driver_->call(can_reach, &answer, ordinal, peer));
        if (answer == 0)
            return fail(ErrorCode::Unsupported, "{} device {} does not reach the memory of device {} ({}: 0)",
                        Final::kLane, ordinal, peer, can_reach.name());
        const Status enabled = enable(arguments...);
        if (enabled == Status::Success || enabled == Status::PeerAccessAlreadyEnabled) return {};
        return fail(driver_->error(enabled, enable.name()));
    }
    DriverContext(std::shared_ptr<const Driver> driver, const CommonCalls<Status>& calls, DeviceInfo info)
        : CounterContext(std::move(info)), driver_(std::move(driver)), calls_(calls) {}

    std::shared_ptr<const Driver> driver_;

  private:
    const Final& self() const { return static_cast<const Final&>(*this); }
    template <class Scope, class Call, class... Arguments>
    Result<void> call(const Call& entry_point, Arguments... arguments) const {
        const Scope current(self());
        return driver_->call(entry_point, arguments...);
    }
    template <class Scope, class Call, class... Arguments>
    void discard(const Call& entry_point, Arguments... arguments) const {
        const Scope current(self());
        (void)entry_point(arguments...);
    }

    CommonCalls<Status> calls_;
};

}  // namespace kinetograph::accel::gpu
