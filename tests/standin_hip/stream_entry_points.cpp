// Entry points of the stand-in: streams, copies, values, callbacks and events.
#include <kinetograph/tests/standin_hip/entry_points.hpp>

#include <cstring>

namespace kinetograph::accel::hip {

namespace {

/// Where a copy's end lies; a driver tells by the address as well.
enum class Place : std::uint8_t { Device, Pageable, Broken };

Place place_of(const void* address, std::size_t bytes) {
    const standin::AddressSpace& addresses = machine().addresses();
    if (addresses.find(address, bytes) || addresses.device_address(const_cast<void*>(address)) != nullptr)
        return Place::Device;
    return addresses.find(address, 1) ? Place::Broken : Place::Pageable;
}

standin::Work stamp(const std::shared_ptr<standin::EventState>& state) {
    return [state] {
        std::lock_guard lock(state->mutex);
        if (state->records > 1) {  // a later record has been enqueued: its time is the event's
            --state->records;
            return Status::Success;
        }
        state->records = 0;
        state->phase = standin::EventState::Phase::Passed;
        state->device_ns = machine().device_now();
        return Status::Success;
    };
}

void expect(standin::EventState& state) {
    std::lock_guard lock(state.mutex);
    state.phase = standin::EventState::Phase::Pending;
    ++state.records;
}

}  // namespace

STANDIN_EXPORT Status hipStreamCreateWithFlags(StreamHandle* stream, unsigned flags) {
    STANDIN_ENTER();
    if (flags > kStreamNonBlocking) return Status::InvalidValue;
    *stream = new RuntimeStream;
    machine().add(machine().streams, *stream);
    return Status::Success;
}

STANDIN_EXPORT Status hipStreamDestroy(StreamHandle stream) {
    STANDIN_ENTER();
    if (!machine().remove(machine().streams, stream)) {
        machine().complain("hipStreamDestroy of a stream that does not exist");
        return Status::InvalidHandle;
    }
    delete stream;
    return Status::Success;
}

STANDIN_EXPORT Status hipStreamQuery(StreamHandle stream) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    if (const Status refused = refuse_capture(stream); refused != Status::Success) return refused;
    if (const Status fault = machine().fault(); fault != Status::Success) return fault;
    return stream->idle() ? Status::Success : Status::NotReady;
}

STANDIN_EXPORT Status hipStreamSynchronize(StreamHandle stream) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    if (const Status refused = refuse_capture(stream); refused != Status::Success) return refused;
    stream->wait_until_idle();
    return machine().fault();
}

STANDIN_EXPORT Status hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, StreamHandle stream) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    if (kind != kMemcpyDefault) return Status::InvalidValue;
    const Place target = place_of(to, bytes), source = place_of(from, bytes);
    if (target == Place::Broken || source == Place::Broken) return Status::InvalidValue;
    const bool pageable = target == Place::Pageable || source == Place::Pageable;
    if (pageable && stream->capture) return refuse_capture(stream);
    const Status pushed = stream->push([to, from, bytes] {
        const standin::AddressSpace::Access access(machine().addresses());
        std::memmove(to, from, bytes);
        return Status::Success;
    });
    if (pushed == Status::Success && pageable) stream->wait_until_idle();  // ordinary memory is staged by the caller
    return pushed;
}

STANDIN_EXPORT Status hipMemsetAsync(void* address, int value, std::size_t bytes, StreamHandle stream) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    if (place_of(address, bytes) != Place::Device) return Status::InvalidValue;
    return stream->push([address, value, bytes] {
        const standin::AddressSpace::Access access(machine().addresses());
        std::memset(address, value, bytes);
        return Status::Success;
    });
}

STANDIN_EXPORT Status hipStreamWaitValue64(StreamHandle stream, void* address, std::uint64_t value, unsigned flags,
                                           std::uint64_t mask) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    if (const Status refused = refuse_capture(stream); refused != Status::Success) return refused;
    if (flags != kStreamWaitValueGte ||
        machine().addresses().find(address, sizeof(std::uint64_t)) != AddressKind::Signal)
        return Status::InvalidValue;
    return stream->push([counter = static_cast<std::uint64_t*>(address), value, mask] {
        while ((std::atomic_ref(*counter).load(std::memory_order_acquire) & mask) < value &&
               machine().fault() == Status::Success)
            std::this_thread::sleep_for(std::chrono::microseconds(5));
        return Status::Success;
    });
}

STANDIN_EXPORT Status hipStreamWriteValue64(StreamHandle stream, void* address, std::uint64_t value, unsigned flags) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    if (const Status refused = refuse_capture(stream); refused != Status::Success) return refused;
    if (flags != 0 || machine().addresses().find(address, sizeof(std::uint64_t)) != AddressKind::Signal)
        return Status::InvalidValue;
    return stream->push([counter = static_cast<std::uint64_t*>(address), value] {
        std::atomic_ref(*counter).store(value, std::memory_order_release);
        return Status::Success;
    });
}

STANDIN_EXPORT Status hipLaunchHostFunc(StreamHandle stream, HostFunction function, void* user_data) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    if (const Status refused = refuse_capture(stream); refused != Status::Success) return refused;
    return stream->push([function, user_data] {
        std::lock_guard lock(machine().callback_mutex());
        function(user_data);
        return Status::Success;
    });
}

STANDIN_EXPORT Status hipEventCreateWithFlags(EventHandle* event, unsigned flags) {
    STANDIN_ENTER();
    if (flags != kEventDefault) return Status::InvalidValue;
    *event = new RuntimeEvent;
    machine().add(machine().events, *event);
    return Status::Success;
}

STANDIN_EXPORT Status hipEventDestroy(EventHandle event) {
    STANDIN_ENTER();
    if (!machine().remove(machine().events, event)) {
        machine().complain("hipEventDestroy of an event that does not exist");
        return Status::InvalidHandle;
    }
    delete event;
    return Status::Success;
}

STANDIN_EXPORT Status hipEventRecord(EventHandle event, StreamHandle stream) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    if (stream->capture) return Status::Success;  // marks a place in the capture; nothing is stamped by a replay
    expect(*event->state);
    return stream->push(stamp(event->state));
}

STANDIN_EXPORT Status hipEventQuery(EventHandle event) {
    STANDIN_ENTER();
    std::lock_guard lock(event->state->mutex);
    if (event->state->phase == standin::EventState::Phase::Pending) return Status::NotReady;
    return Status::Success;  // also if it was never recorded
}

STANDIN_EXPORT Status hipEventSynchronize(EventHandle event) {
    STANDIN_ENTER();
    const auto pending = [&] {
        std::lock_guard lock(event->state->mutex);
        return event->state->phase == standin::EventState::Phase::Pending;
    };
    while (pending()) {
        if (const Status fault = machine().fault(); fault != Status::Success) return fault;
        std::this_thread::sleep_for(std::chrono::microseconds(5));
    }
    return Status::Success;
}

STANDIN_EXPORT Status hipEventElapsedTime(float* milliseconds, EventHandle start, EventHandle stop) {
    STANDIN_ENTER();
    using Phase = standin::EventState::Phase;
    const auto look = [](EventHandle event) {
        std::lock_guard lock(event->state->mutex);
        return std::pair(event->state->phase, event->state->device_ns);
    };
    const auto [first_phase, first] = look(start);
    const auto [second_phase, second] = look(stop);
    if (first_phase == Phase::NeverRecorded || second_phase == Phase::NeverRecorded) return Status::InvalidHandle;
    if (first_phase == Phase::Pending || second_phase == Phase::Pending) return Status::NotReady;
    *milliseconds = static_cast<float>(second - first) / 1e6F;
    return Status::Success;
}

STANDIN_EXPORT Status hipGraphAddEventRecordNode(GraphNodeHandle* node, GraphHandle graph,
                                                 const GraphNodeHandle* dependencies, std::size_t count,
                                                 EventHandle event) {
    STANDIN_ENTER();
    auto made = std::make_unique<RuntimeGraphNode>();
    made->work = [state = event->state, run = stamp(event->state)] {
        expect(*state);
        return run();
    };
    made->dependencies.assign(dependencies, dependencies + count);
    *node = made.get();
    graph->nodes.push_back(std::move(made));
    return Status::Success;
}

}  // namespace kinetograph::accel::hip
