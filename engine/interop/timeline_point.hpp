// TimelinePoint: a moment in somebody's work, which either side can wait for.
#pragma once

#include <kinetograph/engine/accel/lane_progress.hpp>
#include <kinetograph/engine/graph/executor.hpp>
#include <kinetograph/engine/vulkan/relay.hpp>

#include <atomic>
#include <memory>

namespace kinetograph::interop {

/// Reached when the timeline has reached `value`. With a Vulkan device that is a timeline semaphore of its own, ours or
/// the application's; without one it is a timeline of the accelerator's. Neither, or value 0: reached already.
struct TimelinePoint {
    VkSemaphore semaphore = VK_NULL_HANDLE;
    std::shared_ptr<accel::Timeline> timeline;
    std::uint64_t value = 0;
    bool is_past() const { return value == 0 || (semaphore == VK_NULL_HANDLE && timeline == nullptr); }
};

/// Somebody else's timeline, as a lane that relays can wait for. It takes no batches.
class ForeignTimeline final : public graph::LaneBackend {
  public:
    /// Of `point` only the timeline counts. `display` is null if that is the accelerator's. Once `closing` is true,
    /// waits end with Cancelled: the other party may never signal what it promised. Both outlive this.
    ForeignTimeline(const vulkan::Device* display, TimelinePoint point, const std::atomic<bool>& closing)
        : display_(display), point_(std::move(point)), closing_(closing) {}

    bool is(const TimelinePoint& point) const {
        return point_.semaphore == point.semaphore && point_.timeline == point.timeline;
    }
    graph::Lane lane() const override { return graph::Lane::Host; }
    Result<void> submit(const graph::BatchRecord& record) override;
    Result<void> wait(std::uint64_t value) override;
    Result<bool> wait(std::uint64_t value, Nanoseconds timeout) const;  ///< false on time-out
    /// Asks, without waiting.
    bool has_reached(std::uint64_t value) const;

  private:
    const vulkan::Device* display_;
    TimelinePoint point_;
    const std::atomic<bool>& closing_;
};

/// An accelerator lane's progress in the lane's place, for relays that may outlive it. It takes no batches.
class FollowedLane final : public graph::LaneBackend {
  public:
    explicit FollowedLane(std::shared_ptr<accel::LaneProgress> progress) : progress_(std::move(progress)) {}
    bool follows(const std::shared_ptr<accel::LaneProgress>& progress) const { return progress_ == progress; }
    graph::Lane lane() const override { return graph::Lane::Accelerator; }
    Result<void> submit(const graph::BatchRecord& record) override;
    /// Errors: those of accel::LaneProgress::wait.
    Result<void> wait(std::uint64_t value) override;

  private:
    std::shared_ptr<accel::LaneProgress> progress_;
};

}  // namespace kinetograph::interop
