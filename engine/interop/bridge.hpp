// Bridge: what one accelerator and one Vulkan device share: memory that both see, and timelines.
#pragma once

#include <kinetograph/engine/accel/accelerator_lane.hpp>
#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/engine/interop/shared_memory.hpp>
#include <kinetograph/engine/interop/timeline_point.hpp>
#include <kinetograph/engine/interop/topology.hpp>

#include <atomic>
#include <vector>

namespace kinetograph::interop {

struct BridgeOptions {
    Topology closest = Topology::Shared;  ///< Staged or Headless: do not couple closer, to compare or to debug
};

/// Thread-safe. Made before the lanes that it connects, and destroyed after them.
class Bridge {
  public:
    /// `display` is null where there is no Vulkan; it may be a device that a host application owns. Both outlive the
    /// bridge. What the two devices report is tried on a page of memory; a coupling that fails is ruled out, and
    /// choice() is the next best one and says why. Errors: OutOfMemory.
    static Result<std::unique_ptr<Bridge>> create(accel::Device& accelerator, const vulkan::Display* display,
                                                  const BridgeOptions& options = {});
    Bridge(const Bridge&) = delete;
    Bridge& operator=(const Bridge&) = delete;
    ~Bridge();
    /// From now on every wait for one of the application's timelines ends with Cancelled. Call it before destroying
    /// lanes whose work may wait for points that will never be reached.
    void close() { *closing_ = true; }

    const TopologyChoice& choice() const { return choice_; }
    accel::Device& accelerator() const { return accelerator_; }
    const vulkan::Display* display() const { return display_; }  ///< null when headless
    SharedMemory& memory() { return memory_; }
    /// For graph::CompileOptions.
    graph::LaneTopology lane_topology() const { return interop::lane_topology(accelerator_.info(), choice_); }
    /// How the Vulkan lanes to be connected are created.
    vulkan::Sharing lane_sharing() const {
        return choice_.timelines == Timelines::Shared ? vulkan::Sharing::Exportable : vulkan::Sharing::Private;
    }

    /// On one GPU, has the accelerator's lane report its loss to the Vulkan device (vulkan::Display::share_gpu_with).
    /// Where timelines are shared, makes the two lanes see each other's timelines on the device. Call it before their
    /// first batches. Errors: what either driver says.
    Result<void> connect(accel::AcceleratorLane& accelerator, vulkan::DisplayLane& display);

    /// The same for a lane that no Vulkan lane of the graph waits for: where timelines are shared, makes its progress
    /// visible to Vulkan on the device, for export_point(). Call it before the lane's first batch. Errors: what either
    /// driver says.
    Result<void> connect(accel::AcceleratorLane& accelerator);

    /// Turns a point of a lane into one that the application can wait for: of a timeline semaphore, or, headless, of
    /// the accelerator's timeline. A batch that signals the point's value has been submitted. Errors: what Vulkan says.
    Result<TimelinePoint> export_point(const graph::Point& point);
    /// Turns the application's point into one that graphs can wait for, such as `ready` of an import. Devices that see
    /// its timeline wait for it themselves.
    graph::Point import_point(const TimelinePoint& point) const;
    bool has_reached(const TimelinePoint& point);   ///< does not wait
    Result<void> wait(const TimelinePoint& point);  ///< blocks the calling thread
    /// The same for up to `timeout`; false when that has passed. Errors: DeviceLost; Cancelled after close().
    Result<bool> wait(const TimelinePoint& point, Nanoseconds timeout);

  private:
    /// A connected lane's timeline, and the semaphore in which an application sees it.
    struct Connected {
        std::weak_ptr<graph::Timeline> timeline;
        VkSemaphore semaphore = nullptr;
        bool is_accelerators = false;
    };
    Bridge(accel::Device& accelerator, const vulkan::Display* display, TopologyChoice choice);
    void share_gpu_with(accel::AcceleratorLane& lane) const;
    Result<void> share_timeline(accel::AcceleratorLane& lane) KG_REQUIRES(mutex_);
    bool is_connected(const graph::Timeline& timeline) KG_REQUIRES(mutex_);
    Result<std::shared_ptr<accel::Timeline>> import_timeline(const vulkan::SemaphoreTimeline& exported) const;
    std::shared_ptr<graph::Timeline> timeline_of(const TimelinePoint& point) const;

    accel::Device& accelerator_;
    const vulkan::Display* display_;
    TopologyChoice choice_;
    SharedMemory memory_;
    std::shared_ptr<std::atomic<bool>> closing_ = std::make_shared<std::atomic<bool>>(false);
    Mutex mutex_;
    std::vector<Connected> connected_ KG_GUARDED_BY(mutex_);
    VkSemaphore relay_semaphore_ KG_GUARDED_BY(mutex_) = nullptr;
    /// Signals points of lanes whose timelines the application cannot see; made when first needed.
    std::unique_ptr<graph::Relay> relay_ KG_GUARDED_BY(mutex_);
};

}  // namespace kinetograph::interop
