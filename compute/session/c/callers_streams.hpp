// CallersStreams: the CUDA and HIP streams that an application names, each with a timeline of what it has done for us.
#pragma once

#include <kinetograph/engine/accel/open.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include "handles.hpp"

#include <map>
#include <vector>

namespace kinetograph::c {

/// Thread-safe. A stream is adopted when it is named first, and stays adopted until it meets an error, which is told
/// once: the next call that names it adopts it anew. Its owner may destroy it before this goes. While a stream is in a
/// capture every call but is_capturing() refuses it: copies, signals and waits would become part of the application's
/// graph.
class CallersStreams {
  public:
    explicit CallersStreams(accel::Device& device) : device_(device) {}

    /// Copies `bytes` bytes `count` times in the stream's order, from every `stride` bytes to one place after another.
    /// Errors: those of accel::adopt_stream and of the stream, InvalidArgument (it is in a capture).
    Result<void> copy(void* stream, std::byte* to, const std::byte* from, std::uint64_t bytes, std::int64_t count,
                      std::int64_t stride);
    Result<bool> is_capturing(void* stream) { return accel::is_capturing(device_, stream); }
    /// When the stream is done with what it has been given so far.
    Result<interop::TimelinePoint> point(void* stream);
    /// What the stream is given from now on waits for `point`, which has a timeline.
    Result<void> wait(void* stream, const interop::TimelinePoint& point);
    /// Waits until the streams have done what they were given here, and forgets them. Errors: Cancelled (one of them
    /// does not move and is given up: memory of the device is leaked instead of released until it has moved).
    Result<void> end();

  private:
    struct Adopted {
        std::shared_ptr<graph::Timeline> timeline;
        std::uint64_t value = 0;                ///< the newest that the stream will reach
        std::unique_ptr<accel::Stream> stream;  ///< last: it has passed its signals before the timeline goes
    };
    Result<Adopted*> find(void* stream) KG_REQUIRES(mutex_);
    Result<void> tell(void* stream) KG_REQUIRES(mutex_);

    accel::Device& device_;
    Mutex mutex_;
    std::map<void*, Adopted> streams_ KG_GUARDED_BY(mutex_);
    std::vector<Adopted> failed_ KG_GUARDED_BY(mutex_);  ///< some of them have signals on their way
};

}  // namespace kinetograph::c
