// VulkanLane: runs batches of a frame graph on one queue.
#pragma once

#include <kinetograph/engine/graph/executor.hpp>
#include <kinetograph/engine/profile/recorder.hpp>
#include <kinetograph/engine/vulkan/pass_context.hpp>
#include <kinetograph/engine/vulkan/relay.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace kinetograph::vulkan {

class Device;

/// A semaphore of somebody else's: of a swapchain, a host application, another API. `value` 0: a binary semaphore.
struct ExternalSemaphore {
    VkSemaphore semaphore = VK_NULL_HANDLE;
    std::uint64_t value = 0;
};

/// Serves one executor, whose values its timeline carries. Command buffers, descriptor sets and upload memory are
/// recycled by timeline value, so that in steady state nothing is allocated. submit() is called from one thread at a
/// time; wait(), completed() and collect() from any.
class VulkanLane final : public graph::LaneBackend {
  public:
    /// `lane` is Graphics, AsyncCompute or Transfer; every pass becomes a span in `recorder`, which outlives the lane.
    /// An exportable lane has a timeline that an accelerator can import.
    static Result<std::unique_ptr<VulkanLane>> create(const Device& device, graph::Lane lane,
                                                      profile::Recorder* recorder = nullptr,
                                                      Sharing sharing = Sharing::Private);
    ~VulkanLane() override;  ///< waits for what it submitted

    graph::Lane lane() const override { return lane_; }
    /// Errors: DeviceLost, OutOfMemory; what a pass handed to PassContext::fail. Nothing of the batch runs then.
    Result<void> submit(const graph::BatchRecord& record) override;
    Result<void> wait(std::uint64_t value) override;

    VkSemaphore timeline() const { return timeline_; }  ///< reaches BatchRecord::signal when the batch is done
    /// The same values in a semaphore that another API may import; null in a private lane. Two, because validation
    /// layers do not learn from an exported semaphore that work has ended.
    VkSemaphore exported_timeline() const { return exported_; }
    /// From now on waits for `lane` on the device: the values of its timeline appear in `timeline` too.
    void can_see(const graph::LaneBackend& lane, VkSemaphore timeline) {
        visible_.insert_or_assign(&lane, timeline);  // also where a lane was that is gone
    }
    std::uint64_t completed() const;  ///< value that the timeline has reached

    /// Makes the first batch of the next execution on this lane wait for `semaphore` (a swapchain image acquired).
    void wait_before_next(const ExternalSemaphore& semaphore) { waits_.push_back(semaphore); }
    /// The same for a lane that this queue does not see, by the relay's thread.
    void wait_before_next(const graph::ResolvedWait& wait) { other_waits_.push_back(wait); }
    /// Makes the last batch of the next execution on this lane signal `semaphore` (ready to present).
    void signal_after_next(const ExternalSemaphore& semaphore) { signals_.push_back(semaphore); }
    /// Forgets those of an execution that did not come to pass.
    void forget_external();

    /// Records the spans of everything that has completed. submit() and wait() do this too.
    void collect();

  private:
    struct Slot;  // one command buffer in flight and what belongs to it
    VulkanLane(const Device& device, graph::Lane lane, profile::Recorder* recorder);
    Result<Slot*> acquire_slot(std::size_t passes);
    Result<void> prepare(Slot& slot, std::size_t passes);
    void collect_locked();
    void record_spans(Slot& slot);
    Result<void> record(Slot& slot, const graph::BatchRecord& batch);
    void record_barriers(VkCommandBuffer commands, const graph::PassRecord& pass, const graph::BatchRecord& batch);
    void record_barrier(VkCommandBuffer commands, const VkMemoryBarrier2& barrier);
    VkSemaphore timeline_of(const graph::LaneBackend& lane) const;
    bool waits_for_the_host(const graph::BatchRecord& batch) const;
    Result<void> enqueue(Slot& slot, const graph::BatchRecord& batch);
    Result<std::vector<VkSemaphoreSubmitInfo>> resolve_waits(const graph::BatchRecord& batch);
    bool times_passes() const;

    const Device& device_;
    graph::Lane lane_;
    profile::Recorder* recorder_;
    VkSemaphore timeline_ = VK_NULL_HANDLE, exported_ = VK_NULL_HANDLE;
    std::uint64_t submitted_ = 0;
    std::mutex mutex_;  // slots_, their queries, and relay_
    std::vector<std::unique_ptr<Slot>> slots_;
    std::vector<ExternalSemaphore> waits_, signals_;
    std::vector<graph::ResolvedWait> other_waits_;  // with waits_
    std::map<const graph::LaneBackend*, VkSemaphore> visible_;
    std::unique_ptr<Relay> relay_;              // made when first needed
    std::vector<graph::ResolvedWait> relayed_;  // of the batch being submitted
};

}  // namespace kinetograph::vulkan
