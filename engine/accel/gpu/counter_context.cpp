#include <kinetograph/engine/accel/gpu/clock.hpp>
#include <kinetograph/engine/accel/gpu/timeline.hpp>

namespace kinetograph::accel::gpu {

Result<std::shared_ptr<Timeline>> CounterContext::create_timeline(std::shared_ptr<Context> self) {
    return gpu::create_timeline(std::static_pointer_cast<CounterContext>(std::move(self)));
}

Result<std::shared_ptr<Timeline>> CounterContext::import_timeline(std::shared_ptr<Context> self, int fd,
                                                                  std::shared_ptr<Timeline> original) {
    return gpu::import_timeline(std::static_pointer_cast<CounterContext>(std::move(self)), fd, std::move(original));
}

Result<void> CounterContext::wait(StreamHandle stream, const std::shared_ptr<Timeline>& timeline, std::uint64_t value) {
    return static_cast<GpuTimeline&>(*timeline).enqueue_wait(*this, stream, value);
}

Result<void> CounterContext::signal(StreamHandle stream, const std::shared_ptr<Timeline>& timeline,
                                    std::uint64_t value) {
    return static_cast<GpuTimeline&>(*timeline).enqueue_signal(*this, stream, value);
}

Result<std::shared_ptr<EventClock>> CounterContext::start_clock(std::shared_ptr<Context> self) {
    return DeviceClock::start(std::static_pointer_cast<CounterContext>(std::move(self)));
}

}  // namespace kinetograph::accel::gpu
