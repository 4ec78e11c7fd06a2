// CounterContext: what the drivers of CUDA and HIP offer instead of timelines and times: counters in memory, semaphores
// of other APIs, and the differences between events.
#pragma once

#include <kinetograph/engine/accel/gpu/context.hpp>

namespace kinetograph::accel::gpu {

class CounterContext : public Context {
  public:
    /// Eight bytes that streams and the host wait for and write.
    struct Counter {
        std::byte* host = nullptr;
        std::byte* device = nullptr;
    };
    /// Errors also: Unsupported (streams of the device cannot wait for values).
    virtual Result<Counter> create_counter() = 0;
    virtual void release(const Counter& counter) = 0;
    virtual Result<void> wait(StreamHandle stream, const Counter& counter, std::uint64_t value) = 0;
    virtual Result<void> signal(StreamHandle stream, const Counter& counter, std::uint64_t value) = 0;
    /// The descriptor belongs to the driver once this has succeeded.
    virtual Result<ExternalSemaphoreHandle> import_semaphore(int fd) = 0;
    virtual void release(ExternalSemaphoreHandle semaphore) = 0;
    virtual Result<void> wait(StreamHandle stream, ExternalSemaphoreHandle semaphore, std::uint64_t value) = 0;
    virtual Result<void> signal(StreamHandle stream, ExternalSemaphoreHandle semaphore, std::uint64_t value) = 0;

    virtual bool has_passed(EventHandle event) = 0;
    virtual Result<void> synchronize(EventHandle event) = 0;
    virtual Result<double> nanoseconds(EventHandle from, EventHandle to) = 0;

    using Context::release;
    using Context::signal;
    using Context::synchronize;
    using Context::wait;
    Result<std::shared_ptr<Timeline>> create_timeline(std::shared_ptr<Context> self) final;
    Result<std::shared_ptr<Timeline>> import_timeline(std::shared_ptr<Context> self, int fd,
                                                      std::shared_ptr<Timeline> original) final;
    Result<void> wait(StreamHandle stream, const std::shared_ptr<Timeline>& timeline, std::uint64_t value) final;
    Result<void> signal(StreamHandle stream, const std::shared_ptr<Timeline>& timeline, std::uint64_t value) final;
    Result<std::shared_ptr<EventClock>> start_clock(std::shared_ptr<Context> self) final;

  protected:
    using Context::Context;
};

}  // namespace kinetograph::accel::gpu
