// CallersStreams: the CUDA and HIP streams that an application names, each with a timeline of what it has done for us.
#pragma once

#include <kinetograph/engine/base/thread_safety.hpp>

#include "handles.hpp"

#include <map>

namespace kinetograph::c {

/// Thread-safe. A stream is adopted when it is named first, and stays adopted. Its owner may destroy it before this
/// goes.
class CallersStreams {
  public:
    explicit CallersStreams(accel::Device& device) : device_(device) {}

    /// Copies `bytes` bytes `count` times in the stream's order, from every `stride` bytes to one place after another.
    /// Errors: those of accel::adopt_stream and of the stream.
    Result<void> copy(void* stream, std::byte* to, const std::byte* from, std::uint64_t bytes, std::int64_t count,
                      std::int64_t stride);
    /// When the stream is done with what it has been given so far.
    Result<interop::TimelinePoint> point(void* stream);
    /// What the stream is given from now on waits for `point`, which has a timeline.
    Result<void> wait(void* stream, const interop::TimelinePoint& point);

  private:
    struct Adopted {
        std::shared_ptr<graph::Timeline> timeline;
        std::uint64_t value = 0;
        std::unique_ptr<accel::Stream> stream;  ///< last: it has passed its signals before the timeline goes
    };
    Result<Adopted*> find(void* stream) KG_REQUIRES(mutex_);

    accel::Device& device_;
    Mutex mutex_;
    std::map<void*, Adopted> streams_ KG_GUARDED_BY(mutex_);
};

}  // namespace kinetograph::c
