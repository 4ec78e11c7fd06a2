// VulkanLane: runs batches of a frame graph on one queue.
#pragma once

#include <kinetograph/engine/graph/lane_waits.hpp>
#include <kinetograph/engine/profile/recorder.hpp>
#include <kinetograph/engine/vulkan/pass_context.hpp>
#include <kinetograph/engine/vulkan/timeline.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace kinetograph::vulkan {

class Device;

/// Binary semaphores of a swapchain, which knows no timelines.
struct SwapchainSemaphores {
    VkSemaphore acquired = VK_NULL_HANDLE;  ///< signalled when the image may be drawn to
    VkSemaphore drawn = VK_NULL_HANDLE;     ///< to be signalled when it may be presented
};

/// Serves one executor, whose values its timeline carries. Command buffers, descriptor sets and upload memory are
/// recycled by timeline value, so that nothing is allocated in the steady state. Call submit() from one thread at a
/// time; wait(), completed() and collect() from any.
class VulkanLane final : public DisplayLane {
  public:
    /// `lane` is Graphics, AsyncCompute or Transfer; every pass becomes a span in `recorder`, which outlives the lane.
    /// An exportable lane has a timeline that an accelerator can import.
    static Result<std::unique_ptr<VulkanLane>> create(const Device& device, graph::Lane lane,
                                                      profile::Recorder* recorder = nullptr,
                                                      Sharing sharing = Sharing::Private);
    /// Waits for what it submitted (graph::end_of_lane). If that work is given up, the device keeps its command
    /// buffers, and the timeline's status() becomes Cancelled: only the queue can signal the remaining values.
    ~VulkanLane() override;

    graph::Lane lane() const override { return lane_; }
    /// Errors: DeviceLost, OutOfMemory; the error that a pass gave to PassContext::fail. Nothing of the batch runs
    /// then.
    Result<void> submit(const graph::BatchRecord& record) override;
    using LaneBackend::wait;
    /// Errors: DeviceLost, also if the queue stalls after a loss on the same GPU (GpuLosses).
    Result<bool> wait(std::uint64_t value, Nanoseconds timeout) override;
    std::shared_ptr<graph::Timeline> timeline() const override { return timeline_; }
    graph::LaneState state() const override;

    VkSemaphore semaphore() const { return timeline_->handle(); }  ///< of timeline()
    SemaphoreTimeline own() const override { return {timeline_, semaphore()}; }
    SemaphoreTimeline exported() const override { return {exported_, exported_ ? exported_->handle() : nullptr}; }
    std::uint64_t completed() const { return timeline_->value(); }  ///< value that the timeline has reached
    /// Whether one of its batches waits for a point that is not reached.
    bool waits_for_a_point() const { return !waits_.unmet().empty(); }

    /// The next execution draws to an image of a swapchain: the lane's first batch waits for it, the last one signals.
    /// If a batch fails, the semaphores that it should have waited for and signalled are left to the next execution.
    void draw_next(const SwapchainSemaphores& semaphores) { swapchain_ = semaphores; }

    void collect() override;

  private:
    struct Slot;  // one command buffer in flight and its resources
    VulkanLane(const Device& device, graph::Lane lane, std::shared_ptr<TimelineSemaphore> timeline,
               profile::Recorder* recorder);
    Result<Slot*> acquire_slot(std::size_t passes);
    Result<void> prepare(Slot& slot, std::size_t passes);
    void collect_locked() KG_REQUIRES(mutex_);
    Result<void> record(Slot& slot, const graph::BatchRecord& batch);
    void record_barriers(VkCommandBuffer commands, const graph::PassRecord& pass, const graph::BatchRecord& batch);
    void forget_recorded(const SwapchainSemaphores& swapchain);
    void record_barrier(VkCommandBuffer commands, const VkMemoryBarrier2& barrier);
    void note_awaited(const std::shared_ptr<graph::Timeline>& timeline);
    Result<void> status_of_others() KG_REQUIRES(mutex_);
    Result<bool> wait_for_queue(std::uint64_t value, Nanoseconds timeout);
    Result<void> check_goes_on();
    Result<void> enqueue(Slot& slot, const graph::BatchRecord& batch);
    Result<std::vector<VkSemaphoreSubmitInfo>> resolve_waits(Slot& slot, const graph::BatchRecord& batch);

    const Device& device_;
    graph::Lane lane_;
    profile::Recorder* recorder_;  ///< null also where the queue stamps nothing
    profile::LaneTrack track_;     // the track of its spans, if there is a recorder
    std::shared_ptr<TimelineSemaphore> timeline_, exported_;
    graph::LaneWaits waits_;
    mutable Mutex mutex_;  // also guards the slots' queries
    std::uint64_t submitted_ KG_GUARDED_BY(mutex_) = 0;
    std::vector<std::unique_ptr<Slot>> slots_ KG_GUARDED_BY(mutex_);
    std::vector<std::weak_ptr<graph::Timeline>> awaited_ KG_GUARDED_BY(mutex_);  // of lanes that the queue waited for
    struct Standstill {
        std::uint64_t submitted, reached;
        Nanoseconds since, seen;
    };
    std::optional<Standstill> standstill_ KG_GUARDED_BY(mutex_);    // since a loss beside the device
    SwapchainSemaphores swapchain_;                                 // of the next execution
    std::vector<std::pair<Image*, VkImageLayout>> layouts_before_;  // of images that the batch being recorded changes
};

}  // namespace kinetograph::vulkan
