// CallersStreams: the CUDA and HIP streams that an application names, each with a timeline that tells how far it is.
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>

#include "handles.hpp"

#include <map>
#include <vector>

namespace kinetograph::c {

/// Thread-safe. A stream is adopted when it is first named, and stays adopted until it meets an error, which is
/// returned once: the next call that names the stream adopts it anew. The application may destroy a stream before this
/// object is destroyed. While a stream is being captured, every call that names it is refused, except is_capturing():
/// copies, signals and waits would become part of the application's graph.
class CallersStreams {
  public:
    explicit CallersStreams(accel::Device& device) : device_(device) {}

    /// Copies `count` pieces of `bytes` bytes in the stream's order, from places `stride` bytes apart to places one
    /// after another. Returns the moment when that is done. Errors: those of Device::adopt_stream and of the stream,
    /// InvalidArgument (it is being captured).
    Result<interop::TimelinePoint> copy(void* stream, std::byte* to, const std::byte* from, std::uint64_t bytes,
                                        std::int64_t count, std::int64_t stride);
    Result<bool> is_capturing(void* stream) { return device_.is_capturing(stream); }
    /// The moment when the stream has done what it has been given so far.
    Result<interop::TimelinePoint> point(void* stream);
    /// Makes the stream's later work wait for `point`, which has a timeline.
    Result<void> wait(void* stream, const interop::TimelinePoint& point);
    /// Waits until the streams have done what they were given here, and forgets them. Errors: Cancelled (one of them
    /// makes no progress and is given up: until it does, memory of the device is leaked instead of released).
    Result<void> end();

  private:
    struct Adopted {
        std::shared_ptr<graph::Timeline> timeline;
        std::uint64_t value = 0;                ///< the newest that the stream will reach
        std::unique_ptr<accel::Stream> stream;  ///< last: it has passed its signals before the timeline is destroyed
    };
    Result<Adopted*> find(void* stream) KG_REQUIRES(mutex_);
    Result<void> tell(void* stream) KG_REQUIRES(mutex_);
    Result<interop::TimelinePoint> signal(void* stream, Adopted& adopted) KG_REQUIRES(mutex_);

    accel::Device& device_;
    Mutex mutex_;
    std::map<void*, Adopted> streams_ KG_GUARDED_BY(mutex_);
    std::vector<Adopted> failed_ KG_GUARDED_BY(mutex_);  ///< kept while their signals are outstanding
};

}  // namespace kinetograph::c
