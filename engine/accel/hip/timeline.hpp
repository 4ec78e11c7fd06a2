// Timelines of HIP: eight bytes of signal memory that streams and the host wait for and write; or, where a driver has
// them, another API's timeline semaphore.
#pragma once

#include <kinetograph/engine/accel/hip/context.hpp>

namespace kinetograph::accel::hip {

/// What a HIP stream can wait for and signal.
class StreamTimeline : public Timeline {
  public:
    /// Enqueue on a stream of this timeline's device. Errors: what the driver says.
    virtual Result<void> enqueue_wait(StreamHandle stream, std::uint64_t value) = 0;
    virtual Result<void> enqueue_signal(StreamHandle stream, std::uint64_t value) = 0;
    virtual const Context& context() const = 0;
};

/// A counter in signal memory: hipStreamWaitValue64 and hipStreamWriteValue64 on the device, an atomic on the host,
/// whose wait() polls (host_counter.hpp). Writes of several signallers must come in the order of their values. Errors:
/// Unsupported (hipDeviceAttributeCanUseStreamWaitValue is 0), OutOfMemory.
Result<std::shared_ptr<StreamTimeline>> create_timeline(const std::shared_ptr<Context>& context);

/// See Device::import_timeline.
Result<std::shared_ptr<StreamTimeline>> import_timeline(const std::shared_ptr<Context>& context, int fd,
                                                        std::shared_ptr<Timeline> original);

}  // namespace kinetograph::accel::hip
