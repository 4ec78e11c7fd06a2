// Timelines of CUDA: eight bytes of pinned memory that streams and the host wait for and write; or another API's
// timeline semaphore.
#pragma once

#include <kinetograph/engine/accel/cuda/context.hpp>

namespace kinetograph::accel::cuda {

/// What a CUDA stream can wait for and signal.
class StreamTimeline : public Timeline {
  public:
    /// Enqueue on a stream of this timeline's device, whose context is current. Errors: what the driver says.
    virtual Result<void> enqueue_wait(StreamHandle stream, std::uint64_t value) = 0;
    virtual Result<void> enqueue_signal(StreamHandle stream, std::uint64_t value) = 0;
    virtual const Context& context() const = 0;
};

/// A counter in pinned memory: cuStreamWaitValue64 and cuStreamWriteValue64 on the device, an atomic on the host, whose
/// wait() polls (host_counter.hpp). The device waits in its command front end and occupies no SM. Writes of several
/// signallers must come in the order of their values.
/// Errors: Unsupported (the device reports CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS 0), OutOfMemory.
Result<std::shared_ptr<StreamTimeline>> create_timeline(const std::shared_ptr<Context>& context);

/// See Device::import_timeline.
Result<std::shared_ptr<StreamTimeline>> import_timeline(const std::shared_ptr<Context>& context, int fd,
                                                        std::shared_ptr<Timeline> original);

}  // namespace kinetograph::accel::cuda
