// SubmittedPoints: how far the timelines of a device's streams have been submitted for signalling.
#pragma once

#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/engine/vulkan/timeline.hpp>

#include <map>

namespace kinetograph::accel::vulkan {

/// Thread-safe. A queue may be made to wait for a point that has been submitted: what signals it comes before, or is on
/// another queue.
class SubmittedPoints {
  public:
    /// From now on its values are reached only after submissions that are noted here, or from the host.
    void add(const ::kinetograph::vulkan::TimelineSemaphore& timeline) {
        const Lock lock(mutex_);
        newest_.emplace(timeline.handle(), 0);
    }
    void remove(const ::kinetograph::vulkan::TimelineSemaphore& timeline) {
        const Lock lock(mutex_);
        newest_.erase(timeline.handle());
    }
    void note_submitted(const graph::Point& point) {
        const Lock lock(mutex_);
        if (const auto found = newest_.find(semaphore_of(point)); found != newest_.end()) found->second = point.value;
    }
    /// True also for timelines that were not added, such as those of the graph's lanes on the same device: their
    /// batches are submitted in the order of the graph.
    bool is_submitted(const graph::Point& point) const {
        const Lock lock(mutex_);
        const auto found = newest_.find(semaphore_of(point));
        return found == newest_.end() || found->second >= point.value;
    }

  private:
    static VkSemaphore semaphore_of(const graph::Point& point) {
        return static_cast<const ::kinetograph::vulkan::TimelineSemaphore&>(*point.timeline).handle();
    }
    mutable Mutex mutex_;
    std::map<VkSemaphore, std::uint64_t> newest_ KG_GUARDED_BY(mutex_);
};

}  // namespace kinetograph::accel::vulkan
