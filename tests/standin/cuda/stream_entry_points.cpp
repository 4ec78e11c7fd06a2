// Entry points of the stand-in: streams, values in memory, callbacks and events.
#include <kinetograph/tests/standin/cuda/entry_points.hpp>

namespace kinetograph::accel::cuda {

using Phase = standin::EventState::Phase;

namespace {

/// Whether it is eight aligned bytes that the device can address.
bool holds_value(DeviceAddress address) {
    return address % sizeof(std::uint64_t) == 0 &&
           machine().addresses().find(pointer(address), sizeof(std::uint64_t)).has_value();
}

/// A record that marked a position in a capture has no time, during the capture and after it.
Status refuse_mark(const standin::Event& event) {
    if (event.newest != standin::Event::Record::Mark) return Status::Success;
    return event.capture.expired() ? Status::InvalidValue : Status::CapturedEvent;
}

}  // namespace

STANDIN_EXPORT Status cuStreamCreate(StreamHandle* stream, unsigned flags) {
    STANDIN_ENTER(HealthyContext);
    if (flags > kStreamNonBlocking) return Status::InvalidValue;
    *stream = handle_of(machine().streams.add(std::make_unique<standin::Stream>(current_device())));
    return Status::Success;
}

STANDIN_EXPORT Status cuStreamDestroy_v2(StreamHandle stream) {
    STANDIN_ENTER(Context);
    if (stream == nullptr || unknown(machine().streams, of(stream), __func__)) return Status::InvalidHandle;
    forget_capture(*of(stream));
    machine().streams.remove(of(stream)).reset();
    return machine().fault();
}

STANDIN_EXPORT Status cuStreamQuery(StreamHandle stream) {
    STANDIN_ENTER(HealthyContext);
    if (unknown(machine().streams, of(stream), __func__)) return Status::InvalidHandle;
    STANDIN_LEAVE_UNLESS(of(stream)->refuse_capture());
    return of(stream)->idle() ? Status::Success : Status::NotReady;
}

STANDIN_EXPORT Status cuStreamSynchronize(StreamHandle stream) {
    STANDIN_ENTER(HealthyContext);
    if (unknown(machine().streams, of(stream), __func__)) return Status::InvalidHandle;
    STANDIN_LEAVE_UNLESS(of(stream)->refuse_capture());
    of(stream)->wait_until_idle();
    return machine().fault();
}

STANDIN_EXPORT Status cuStreamWaitValue64_v2(StreamHandle stream, DeviceAddress address, std::uint64_t value,
                                             unsigned flags) {
    STANDIN_ENTER(HealthyContext);
    if (unknown(machine().streams, of(stream), __func__)) return Status::InvalidHandle;
    if (!machine().options().waits_for_values) return Status::NotSupported;
    if (flags != kStreamWaitValueGeq || !holds_value(address)) return Status::InvalidValue;
    return of(stream)->push(standin::wait_for(
        pointer(address), [value](std::uint64_t found) { return static_cast<std::int64_t>(found - value) >= 0; }));
}

STANDIN_EXPORT Status cuStreamWriteValue64_v2(StreamHandle stream, DeviceAddress address, std::uint64_t value,
                                              unsigned flags) {
    STANDIN_ENTER(HealthyContext);
    if (unknown(machine().streams, of(stream), __func__)) return Status::InvalidHandle;
    if (!machine().options().waits_for_values) return Status::NotSupported;
    if (flags != kStreamWriteValueDefault || !holds_value(address)) return Status::InvalidValue;
    return of(stream)->push(standin::write(pointer(address), value));
}

STANDIN_EXPORT Status cuLaunchHostFunc(StreamHandle stream, HostFunction function, void* user_data) {
    STANDIN_ENTER(HealthyContext);
    if (unknown(machine().streams, of(stream), __func__)) return Status::InvalidHandle;
    return of(stream)->push(standin::call_back(function, user_data));
}

STANDIN_EXPORT Status cuEventCreate(EventHandle* event, unsigned flags) {
    STANDIN_ENTER(HealthyContext);
    if (flags != kEventDefault) return Status::InvalidValue;
    auto made = std::make_unique<standin::Event>();
    made->device = current_device();
    *event = handle_of(machine().events.add(std::move(made)));
    return Status::Success;
}

STANDIN_EXPORT Status cuEventDestroy_v2(EventHandle event) {
    STANDIN_ENTER(Context);
    if (unknown(machine().events, of(event), __func__)) return Status::InvalidHandle;
    machine().events.remove(of(event)).reset();
    return machine().fault();
}

STANDIN_EXPORT Status cuEventRecordWithFlags(EventHandle event, StreamHandle stream, unsigned flags) {
    STANDIN_ENTER(HealthyContext);
    if (unknown(machine().streams, of(stream), __func__) || unknown(machine().events, of(event), __func__))
        return Status::InvalidHandle;
    if (flags > kEventRecordExternal) return Status::InvalidValue;
    const bool external = flags == kEventRecordExternal;
    using Record = standin::Event::Record;
    if (!of(stream)->capture) {
        if (external) return Status::IllegalState;
        of(event)->newest = Record::OfStream;
        of(event)->expect();
        return of(stream)->push(of(event)->stamp());
    }
    of(event)->newest = external ? Record::OfGraph : Record::Mark;
    of(event)->capture = of(stream)->capture->running;
    if (!external) return Status::Success;
    return of(stream)->push(of(event)->record());
}

STANDIN_EXPORT Status cuEventQuery(EventHandle event) {
    STANDIN_ENTER(HealthyContext);
    if (unknown(machine().events, of(event), __func__)) return Status::InvalidHandle;
    STANDIN_LEAVE_UNLESS(refuse_during_captures(__func__));
    STANDIN_LEAVE_UNLESS(refuse_mark(*of(event)));
    return of(event)->phase() == Phase::Pending ? Status::NotReady : Status::Success;  // also if it was never recorded
}

STANDIN_EXPORT Status cuEventSynchronize(EventHandle event) {
    STANDIN_ENTER(HealthyContext);
    if (unknown(machine().events, of(event), __func__)) return Status::InvalidHandle;
    STANDIN_LEAVE_UNLESS(refuse_during_captures(__func__));
    STANDIN_LEAVE_UNLESS(refuse_mark(*of(event)));
    return of(event)->wait();
}

STANDIN_EXPORT Status cuEventElapsedTime(float* milliseconds, EventHandle start, EventHandle end) {
    STANDIN_ENTER(HealthyContext);
    for (const EventHandle event : {start, end}) {
        if (unknown(machine().events, of(event), __func__)) return Status::InvalidHandle;
        STANDIN_LEAVE_UNLESS(refuse_mark(*of(event)));
        if (of(event)->phase() != Phase::NeverRecorded) continue;
        return of(event)->newest == standin::Event::Record::OfGraph ? Status::InvalidValue : Status::InvalidHandle;
    }
    return standin::Event::elapsed(*of(start), *of(end), *milliseconds) ? Status::Success : Status::NotReady;
}

}  // namespace kinetograph::accel::cuda
