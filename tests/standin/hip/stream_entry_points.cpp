// Entry points of the stand-in: streams, copies, values, callbacks and events.
#include <kinetograph/tests/standin/hip/entry_points.hpp>

namespace kinetograph::accel::hip {

using Phase = standin::EventState::Phase;

STANDIN_EXPORT Status hipStreamCreateWithFlags(StreamHandle* stream, unsigned flags) {
    STANDIN_ENTER();
    if (flags > kStreamNonBlocking) return Status::InvalidValue;
    *stream = handle_of(machine().streams.add(std::make_unique<standin::Stream>(current_device())));
    return Status::Success;
}

STANDIN_EXPORT Status hipStreamDestroy(StreamHandle stream) {
    STANDIN_ENTER();
    if (machine().streams.remove(of(stream))) return Status::Success;
    machine().complain("hipStreamDestroy of a stream that does not exist");
    return Status::InvalidHandle;
}

STANDIN_EXPORT Status hipStreamQuery(StreamHandle stream) {
    STANDIN_ENTER();
    if (stream == nullptr) return machine().fault();  // the default stream, which is given no work here
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    if (const Status refused = of(stream)->refuse_capture(); refused != Status::Success) return refused;
    if (const Status fault = machine().fault(); fault != Status::Success) return fault;
    return of(stream)->idle() ? Status::Success : Status::NotReady;
}

STANDIN_EXPORT Status hipStreamSynchronize(StreamHandle stream) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    if (const Status refused = of(stream)->refuse_capture(); refused != Status::Success) return refused;
    of(stream)->wait_until_idle();
    return machine().fault();
}

STANDIN_EXPORT Status hipMemcpyAsync(void* to, const void* from, std::size_t bytes, int kind, StreamHandle stream) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    if (kind != kMemcpyDefault) return Status::InvalidValue;
    return standin::copy(*of(stream), to, from, bytes);
}

STANDIN_EXPORT Status hipMemsetAsync(void* address, int value, std::size_t bytes, StreamHandle stream) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    if (machine().addresses().place(address, bytes) != standin::Place::Device) return Status::InvalidValue;
    return of(stream)->push(standin::fill(address, value, bytes));
}

STANDIN_EXPORT Status hipStreamWaitValue64(StreamHandle stream, void* address, std::uint64_t value, unsigned flags,
                                           std::uint64_t mask) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    if (const Status refused = of(stream)->refuse_capture(); refused != Status::Success) return refused;
    if (flags != kStreamWaitValueGte ||
        machine().addresses().find(address, sizeof(std::uint64_t)) != AddressKind::Signal)
        return Status::InvalidValue;
    return of(stream)->push(
        standin::wait_for(address, [value, mask](std::uint64_t found) { return (found & mask) >= value; }));
}

STANDIN_EXPORT Status hipStreamWriteValue64(StreamHandle stream, void* address, std::uint64_t value, unsigned flags) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    if (const Status refused = of(stream)->refuse_capture(); refused != Status::Success) return refused;
    if (flags != 0 || machine().addresses().find(address, sizeof(std::uint64_t)) != AddressKind::Signal)
        return Status::InvalidValue;
    return of(stream)->push(standin::write(address, value));
}

STANDIN_EXPORT Status hipLaunchHostFunc(StreamHandle stream, HostFunction function, void* user_data) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    if (const Status refused = of(stream)->refuse_capture(); refused != Status::Success) return refused;
    return of(stream)->push(standin::call_back(function, user_data));
}

STANDIN_EXPORT Status hipEventCreateWithFlags(EventHandle* event, unsigned flags) {
    STANDIN_ENTER();
    if (flags != kEventDefault) return Status::InvalidValue;
    *event = handle_of(machine().events.add(std::make_unique<standin::Event>()));
    return Status::Success;
}

STANDIN_EXPORT Status hipEventDestroy(EventHandle event) {
    STANDIN_ENTER();
    if (machine().events.remove(of(event))) return Status::Success;
    machine().complain("hipEventDestroy of an event that does not exist");
    return Status::InvalidHandle;
}

STANDIN_EXPORT Status hipEventRecord(EventHandle event, StreamHandle stream) {
    STANDIN_ENTER();
    if (unknown_stream(stream, __func__)) return Status::InvalidHandle;
    if (of(stream)->capture) return Status::Success;  // marks a position in the capture; a replay stamps nothing
    of(event)->expect();
    return of(stream)->push(of(event)->stamp());
}

STANDIN_EXPORT Status hipEventQuery(EventHandle event) {
    STANDIN_ENTER();
    return of(event)->phase() == Phase::Pending ? Status::NotReady : Status::Success;  // also if it was never recorded
}

STANDIN_EXPORT Status hipEventSynchronize(EventHandle event) {
    STANDIN_ENTER();
    return of(event)->wait();
}

STANDIN_EXPORT Status hipEventElapsedTime(float* milliseconds, EventHandle start, EventHandle stop) {
    STANDIN_ENTER();
    for (const EventHandle event : {start, stop})
        if (of(event)->phase() == Phase::NeverRecorded) return Status::InvalidHandle;
    return standin::Event::elapsed(*of(start), *of(stop), *milliseconds) ? Status::Success : Status::NotReady;
}

}  // namespace kinetograph::accel::hip
