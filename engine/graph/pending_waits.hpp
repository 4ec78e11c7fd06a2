// PendingWaits: what the unfinished batches of a lane wait for.
#pragma once

#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/engine/graph/timeline.hpp>

#include <vector>

namespace kinetograph::graph {

/// Thread-safe. Stops allocating once it has held the largest number of waits that are ever in flight.
class PendingWaits {
  public:
    struct Wait {
        std::uint64_t batch = 0;  ///< the lane's value that the waiting batch signals
        Point point;
        std::shared_ptr<Timeline> seen{};  ///< the view through which the lane's device waits; null: the host waits
        bool is_met() const;               ///< as the host sees it and as the device does
    };
    void add(std::uint64_t batch, Point point, std::shared_ptr<Timeline> seen = {});
    /// Drops those of batches up to `reached`.
    void forget(std::uint64_t reached);
    /// Those of batches beyond `reached` that are not met yet, oldest batch first.
    std::vector<Wait> unmet(std::uint64_t reached) const;

  private:
    mutable Mutex mutex_;
    std::vector<Wait> waits_ KG_GUARDED_BY(mutex_);
};

}  // namespace kinetograph::graph
