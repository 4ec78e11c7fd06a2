// Bridge: everything between one accelerator and one Vulkan device: memory that both see, and each other's progress.
#pragma once

#include <kinetograph/engine/interop/lane_ties.hpp>
#include <kinetograph/engine/interop/shared_memory.hpp>
#include <kinetograph/engine/interop/topology.hpp>

namespace kinetograph::interop {

struct BridgeOptions {
    Topology closest = Topology::Shared;  ///< Staged or Headless: do not couple closer, to compare or to debug
};

/// Thread-safe. Lanes and the bridge may end in any order: relays know a lane by its accel::LaneProgress, and lanes
/// keep the semaphores that they know of a bridge. FrameRings and executors with the bridge's memory end before it.
class Bridge {
  public:
    /// `display` is null where there is no Vulkan; it may be a device that a host application owns. Both outlive the
    /// bridge and the lanes. What the two devices promise is tried on a page of memory; what fails is ruled out, and
    /// choice() says so and takes the next best. Errors: OutOfMemory.
    static Result<std::unique_ptr<Bridge>> create(accel::Device& accelerator, const vulkan::Device* display,
                                                  const BridgeOptions& options = {});
    Bridge(const Bridge&) = delete;
    Bridge& operator=(const Bridge&) = delete;
    ~Bridge() { close(); }

    /// Before a lane is destroyed whose work may wait for points that will not be reached any more: ends those waits,
    /// now and from now on, with Cancelled, which the lane's wait() tells; the work runs, on contents that nobody
    /// vouches for. Waits that a device does itself (a queue's for a semaphore, a stream's for a timeline of its
    /// device's) end only when the point is reached. Points of the lane's own progress are still reached as it goes on.
    void let_go(graph::LaneBackend& lane) { ties_->let_go(lane); }
    /// The same for all lanes, and for whoever is in wait().
    void close() { ties_->close(); }

    const TopologyChoice& choice() const { return choice_; }
    accel::Device& accelerator() const { return accelerator_; }
    const vulkan::Device* display() const { return display_; }  ///< null when headless
    SharedMemory& memory() { return memory_; }
    /// For graph::CompileOptions.
    graph::LaneTopology lane_topology() const { return interop::lane_topology(accelerator_.info(), choice_); }
    /// How the Vulkan lanes to be connected are created.
    vulkan::Sharing lane_sharing() const {
        return choice_.timelines == Timelines::Shared ? vulkan::Sharing::Exportable : vulkan::Sharing::Private;
    }

    /// Makes the two lanes see each other's timelines on the device, where timelines are shared; elsewhere there is
    /// nothing to do. Before their first batches. Errors: what either driver says.
    Result<void> connect(accel::AcceleratorLane& accelerator, vulkan::VulkanLane& display);

    /// Makes the lane's progress visible to Vulkan on the device, where timelines are shared, for point_of(): where no
    /// Vulkan lane of ours waits for it. Before its first batch. Errors: what either driver says.
    Result<void> connect(accel::AcceleratorLane& accelerator);

    /// The point at which `lane` reaches `value`, as the application may wait for it: of a timeline semaphore, or,
    /// headless, of the accelerator's timeline. The lane has been given a batch with that value. It may end, and the
    /// point stays good while the bridge lives; one that a relay brings is reached then at the latest, also where work
    /// was lost.
    /// Errors: Unsupported (a lane of the host's), what Vulkan says.
    Result<TimelinePoint> point_of(graph::LaneBackend& lane, std::uint64_t value);

    /// Holds the next batch of `lane` back until `point` is reached, on the device or by a relay.
    void wait_before_next(accel::AcceleratorLane& lane, const TimelinePoint& point);
    void wait_before_next(vulkan::VulkanLane& lane, const TimelinePoint& point);
    bool has_reached(const TimelinePoint& point) { return ties_->has_reached(point); }  ///< asks, without waiting
    /// Blocks the calling thread. Errors: Cancelled (closed), what Vulkan says.
    Result<void> wait(const TimelinePoint& point) { return ties_->wait(point); }
    /// The same for up to `timeout`, also when closed; false when that has passed.
    Result<bool> wait(const TimelinePoint& point, Nanoseconds timeout) { return ties_->wait(point, timeout); }

  private:
    Bridge(accel::Device& accelerator, const vulkan::Device* display, TopologyChoice choice);

    accel::Device& accelerator_;
    const vulkan::Device* display_;
    TopologyChoice choice_;
    SharedMemory memory_;
    std::shared_ptr<LaneTies> ties_;  ///< the lanes' as well
};

}  // namespace kinetograph::interop
