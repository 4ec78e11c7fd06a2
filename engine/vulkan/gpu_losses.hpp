// GpuLosses: losses of other APIs' contexts on a Vulkan device's GPU, and the queues that were given up after them.
#pragma once

#include <kinetograph/engine/base/clock.hpp>
#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/engine/graph/handles.hpp>

#include <cstdint>
#include <optional>

namespace kinetograph::vulkan {

/// If the context of another API is lost while a queue on the same GPU begins to work, that queue can stall
/// without an error; NVIDIA's driver ends it after five seconds and more (Xid 109). So for kLast after such a loss a
/// lane whose work stalls for kPatience is given up (its wait() fails), and the device's own waits end sooner.
/// Thread-safe; calls nothing while it holds its mutex.
class GpuLosses {
  public:
    static constexpr Nanoseconds kLast = std::chrono::seconds(15);
    static constexpr Nanoseconds kPatience = std::chrono::milliseconds(300);  ///< batches take far less

    /// A lane of another API was lost at `now`.
    void note(Error loss, Nanoseconds now = host_now());
    /// The error of the newest loss that lasts at `now`.
    std::optional<Error> newest(Nanoseconds now = host_now());
    /// The queue of `lane` stalls; kLast begins anew, for this and for the newest loss.
    void give_up(graph::Lane lane, Nanoseconds now = host_now());
    /// Whether that was said within kLast, of this lane's queue or of any.
    bool gave_up(graph::Lane lane, Nanoseconds now = host_now()) { return (queues_at(now) >> lane.index() & 1U) != 0; }
    bool gave_up(Nanoseconds now = host_now()) { return queues_at(now) != 0; }
    /// How long to wait for work that stalls: `usual`; at most kPatience after a loss, at most graph::kLook after
    /// a queue was given up.
    Nanoseconds patience_for(Nanoseconds usual, Nanoseconds now = host_now());

  private:
    std::uint32_t queues_at(Nanoseconds now);

    Mutex mutex_;
    std::optional<Error> newest_ KG_GUARDED_BY(mutex_);
    Nanoseconds lost_at_ KG_GUARDED_BY(mutex_){};
    std::uint32_t given_up_ KG_GUARDED_BY(mutex_) = 0;  // a bit for each lane
    Nanoseconds gave_up_at_ KG_GUARDED_BY(mutex_){};
};

}  // namespace kinetograph::vulkan
