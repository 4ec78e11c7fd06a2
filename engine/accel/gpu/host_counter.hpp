// HostCounter: the host's side of a timeline that consists of eight bytes visible to host and device.
#pragma once

#include <kinetograph/engine/base/clock.hpp>

#include <optional>

namespace kinetograph::accel::gpu {

/// Reads, awaits and raises a counter in memory that streams wait for and write. Waiting polls, first without pause,
/// then with naps of up to 100 microseconds: drivers offer nothing to block on that does not also stall the stream.
class HostCounter {
  public:
    /// `counter` is aligned to 8 bytes and outlives this; it is set to 0.
    explicit HostCounter(std::uint64_t* counter);

    std::uint64_t value() const;
    bool wait(std::uint64_t value, std::optional<Nanoseconds> timeout) const;
    void signal(std::uint64_t value);  ///< raises the counter to `value`; never lowers it

  private:
    std::uint64_t* counter_;
};

}  // namespace kinetograph::accel::gpu
