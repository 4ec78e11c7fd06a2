// LaneTies: how the lanes on both sides of a bridge learn of each other's progress.
#pragma once

#include <kinetograph/engine/accel/accelerator_lane.hpp>
#include <kinetograph/engine/interop/timeline_point.hpp>
#include <kinetograph/engine/vulkan/lane.hpp>

#include <atomic>
#include <mutex>
#include <vector>

namespace kinetograph::interop {

/// Semaphores and relays of a bridge's lanes. The bridge and every lane that is named here keep this alive, and this
/// keeps nothing of a lane but its progress, so that either may end before the other:
///
///   lane ── keep ──> LaneTies ── relay ──> LaneProgress <── end ── lane
///
/// Thread-safe.
class LaneTies : public std::enable_shared_from_this<LaneTies> {
  public:
    /// `display` is null where there is no Vulkan. Both devices outlive this.
    LaneTies(accel::Device& accelerator, const vulkan::Device* display)
        : accelerator_(accelerator), display_(display) {}
    LaneTies(const LaneTies&) = delete;
    LaneTies& operator=(const LaneTies&) = delete;
    ~LaneTies() = default;  ///< the last lane has ended

    /// Ends waits of the lane's batches for timelines of others, as relays do them, now and from now on.
    void let_go(graph::LaneBackend& lane);
    void close();  ///< the same for all lanes, also for those to come, and for the host's waits

    /// The semaphore that the lane signals too, made at the first call. Errors: what either driver says.
    Result<VkSemaphore> share_timeline(accel::AcceleratorLane& lane);
    /// An exportable semaphore as the accelerator's streams see it. Errors: what either driver says.
    Result<std::shared_ptr<accel::Timeline>> import_timeline(VkSemaphore semaphore, std::string_view name) const;
    /// Where Vulkan sees `value` of the lane: the semaphore that the lane signals too, or else one that a relay of this
    /// lane's own signals, at the latest when the lane has ended. Errors: what Vulkan says.
    Result<TimelinePoint> point_of(accel::AcceleratorLane& lane, std::uint64_t value);
    /// The same of a Vulkan lane, in its own semaphore.
    TimelinePoint point_of(vulkan::VulkanLane& lane, std::uint64_t value);

    /// A point of an accelerator lane's progress on its own timeline: a driver notices slowly what another API has
    /// signalled (ten milliseconds on an H200), and the accelerator needs no relay for its own. Others as they are.
    TimelinePoint as_accelerators(const TimelinePoint& point);
    /// The point's timeline, for a relay of the lane's.
    ForeignTimeline& awaited_by(graph::LaneBackend& lane, const TimelinePoint& point);

    bool has_reached(const TimelinePoint& point);   ///< asks, without waiting
    Result<void> wait(const TimelinePoint& point);  ///< blocks the calling thread; Errors: Cancelled, what Vulkan says
    /// The same for up to `timeout`, also when closed; false when that has passed.
    Result<bool> wait(const TimelinePoint& point, Nanoseconds timeout);

  private:
    /// What is known of one lane. Its semaphores stay when the lane has ended: points of it may be held.
    struct Tie {
        std::weak_ptr<const void> lane;  ///< its identity
        std::shared_ptr<const vulkan::TimelineSemaphore>
            timeline;                          ///< a Vulkan lane's; what an accelerator's signals too
        std::shared_ptr<accel::Timeline> own;  ///< of an accelerator lane, with the values of `timeline`
        std::unique_ptr<FollowedLane> values;  ///< for `relay`, which waits for them
        std::unique_ptr<vulkan::Relay> relay;  ///< of a lane whose timeline Vulkan cannot see; made when first needed
        std::atomic<bool> let_go{false};
        std::vector<std::unique_ptr<ForeignTimeline>> awaited;  ///< what relays of the lane's wait for
    };
    Tie& tie_of(graph::LaneBackend& lane);
    void forget_ended();

    accel::Device& accelerator_;
    const vulkan::Device* display_;
    std::atomic<bool> closing_{false};
    std::mutex mutex_;
    std::vector<std::unique_ptr<Tie>> ties_;
};

}  // namespace kinetograph::interop
