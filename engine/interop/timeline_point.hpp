// TimelinePoint: a moment in the work of the accelerator, Vulkan or the application, which any of them can wait for.
#pragma once

#include <kinetograph/engine/graph/timeline.hpp>
#include <kinetograph/engine/vulkan/handles.hpp>

#include <atomic>
#include <memory>

namespace kinetograph::interop {

/// Reached when the timeline has reached `value`. With a Vulkan device that is one of its timeline semaphores, the
/// library's or the application's; without one it is a timeline of the accelerator. If both are set, the semaphore
/// shows the values of the accelerator's timeline. If neither is, or `value` is 0, the point has been reached already.
/// A lane's point is valid as long as the lane.
struct TimelinePoint {
    VkSemaphore semaphore = nullptr;
    std::shared_ptr<graph::Timeline> timeline;
    std::uint64_t value = 0;
    bool is_past() const { return value == 0 || (semaphore == nullptr && timeline == nullptr); }
};

/// One of the application's timelines; waits for it fail once the bridge is closed.
class ApplicationTimeline final : public graph::Timeline {
  public:
    /// Once `closing` is true, status() is Cancelled: the application may never signal what it promised.
    ApplicationTimeline(std::shared_ptr<graph::Timeline> theirs, std::shared_ptr<const std::atomic<bool>> closing)
        : theirs_(std::move(theirs)), closing_(std::move(closing)) {
        set_name("a timeline of the application's");
    }
    std::uint64_t value() const override { return theirs_->value(); }
    bool wait(std::uint64_t value, std::optional<Nanoseconds> timeout = {}) override {
        return theirs_->wait(value, timeout);
    }
    void signal(std::uint64_t value) override { theirs_->signal(value); }
    Result<void> status() const override;

  private:
    std::shared_ptr<graph::Timeline> theirs_;
    std::shared_ptr<const std::atomic<bool>> closing_;
};

}  // namespace kinetograph::interop
