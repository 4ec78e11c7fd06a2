// Relay: lets streams wait for a lane whose timeline their device does not know (Vulkan, the host, another
// accelerator).
#pragma once

#include <kinetograph/engine/accel/accelerator.hpp>
#include <kinetograph/engine/graph/relay_thread.hpp>

namespace kinetograph::accel {

/// A timeline of the device that a relay thread signals: what the plan's pair of lanes costs where the device cannot
/// import the other side's semaphores.
class Relay {
  public:
    static Result<std::unique_ptr<Relay>> create(Device& device);

    /// The value of timeline() that will be signalled once all `waits` are done.
    std::uint64_t promise(std::span<const graph::ResolvedWait> waits) { return thread_.promise(waits); }
    const std::shared_ptr<Timeline>& timeline() const { return timeline_; }
    std::optional<Error> error() const { return thread_.error(); }  ///< the first failure of a lane

  private:
    explicit Relay(std::shared_ptr<Timeline> timeline);

    std::shared_ptr<Timeline> timeline_;
    graph::RelayThread thread_;  ///< last: it first brings every promised value
};

}  // namespace kinetograph::accel
