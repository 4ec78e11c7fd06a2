// Recorder: spans from every clock, mapped onto the host axis, collected from any thread.
#pragma once

#include <kinetograph/engine/base/clock.hpp>

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kinetograph::profile {

/// One piece of work on one track (a lane, a thread), on the host axis.
struct Span {
    std::string name;     ///< the pass's name
    std::string track;    ///< "accelerator", "graphics", "host", "present", ...
    Nanoseconds begin{};  ///< host axis, clock.hpp
    Nanoseconds end{};
    std::uint64_t execution = 0;  ///< of the graph that the pass belongs to
};

/// Bounded, thread-safe: beyond `capacity` spans the oldest are dropped.
class Recorder {
  public:
    explicit Recorder(std::size_t capacity = 1U << 16U);
    void add(Span span);
    /// Copies the spans that ended at or after `since`, oldest first.
    std::vector<Span> spans(Nanoseconds since = Nanoseconds::min()) const;
    std::uint64_t total_added() const;
    /// When the earliest span since the start, or since clear(), began; none before the first. Dropped spans count.
    std::optional<Nanoseconds> first_begin() const;
    void clear();

  private:
    mutable std::mutex mutex_;
    std::size_t capacity_;
    std::size_t next_ = 0;
    std::uint64_t total_ = 0;
    std::optional<Nanoseconds> first_begin_;
    std::vector<Span> ring_;
};

}  // namespace kinetograph::profile
