// Timelines of a GPU: eight bytes that streams and the host wait for and write; or another API's timeline semaphore.
#pragma once

#include <kinetograph/engine/accel/gpu/counter_context.hpp>

namespace kinetograph::accel::gpu {

/// What a GPU's stream can wait for and signal.
class GpuTimeline : public Timeline {
  public:
    /// Enqueue on a stream of `device`, which sees this timeline. Errors: what the driver says.
    virtual Result<void> enqueue_wait(CounterContext& device, StreamHandle stream, std::uint64_t value) = 0;
    virtual Result<void> enqueue_signal(CounterContext& device, StreamHandle stream, std::uint64_t value) = 0;

  protected:
    explicit GpuTimeline(std::shared_ptr<CounterContext> context) : context_(std::move(context)) {}
    std::shared_ptr<CounterContext> context_;
};

/// A counter in memory: the device waits for it in its command front end and occupies no multiprocessor; the host's
/// wait() polls (host_counter.hpp). Writes of several signallers must come in the order of their values.
/// Errors: Unsupported (the device cannot wait for values), OutOfMemory.
Result<std::shared_ptr<Timeline>> create_timeline(const std::shared_ptr<CounterContext>& context);

/// See Device::import_timeline.
Result<std::shared_ptr<Timeline>> import_timeline(const std::shared_ptr<CounterContext>& context, int fd,
                                                  std::shared_ptr<Timeline> original);

}  // namespace kinetograph::accel::gpu
