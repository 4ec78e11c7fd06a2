// Device: a logical device, the library's own or a host application's, with its queues, functions, memory and clock.
#pragma once

#include <kinetograph/engine/base/thread_safety.hpp>
#include <kinetograph/engine/graph/patience.hpp>
#include <kinetograph/engine/vulkan/display.hpp>
#include <kinetograph/engine/vulkan/inspect.hpp>
#include <kinetograph/engine/vulkan/pipeline_cache.hpp>

#include <deque>
#include <functional>
#include <mutex>
#include <span>

struct VolkDeviceTable;

namespace kinetograph::vulkan {

class DeviceClock;
class MemoryPool;
class VulkanLane;

struct DeviceOptions {
    VkSurfaceKHR surface = VK_NULL_HANDLE;       ///< the device must be able to present to it
    std::string name_contains{};                 ///< only devices whose name contains this; empty: any
    VkPhysicalDevice physical = VK_NULL_HANDLE;  ///< only this one; null: any
};

/// One VkQueue. Several lanes may share it.
struct Queue {
    VkQueue handle = VK_NULL_HANDLE;
    std::uint32_t family = 0;
    VkQueueFlags flags = 0;                  ///< what its family can do
    std::uint32_t timestamp_valid_bits = 0;  ///< 0: this queue has no time stamps
    std::mutex* mutex = nullptr;             ///< held around every call that uses the queue
};

class Device final : public Display {
  public:
    /// Picks the best usable device. Errors: NotFound or Unsupported, with every device and why it was declined.
    static Result<std::unique_ptr<Device>> create(const Instance& instance, const DeviceOptions& options = {});
    /// Errors: InvalidArgument (no graphics queue), Unsupported (the name of a required feature that was not enabled).
    static Result<std::unique_ptr<Device>> adopt(const Instance& instance, const AdoptedDevice& adopted);

    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    /// Waits until its queues are idle, for at most kPatience per queue: on an adopted device, whose queues run the
    /// host's batches too, only if semaphores were retired or objects kept. What a queue may still use then is never
    /// released.
    ~Device() override;

    const Device& device() const override { return *this; }
    ApplicationVulkan handles() const override;
    bool draws_on(graph::Lane lane) const override;
    Result<void> check_free(std::uint64_t bytes, std::string_view what) const override;
    Result<SemaphoreTimeline> create_timeline(std::string name, Sharing sharing) const override;
    std::shared_ptr<graph::Timeline> borrow_timeline(VkSemaphore semaphore) const override;
    Result<int> export_timeline(const SemaphoreTimeline& timeline) const override;
    VkSemaphore semaphore_of(const graph::Timeline& timeline) const override;
    Result<DisplayBuffer> create_buffer(std::string_view name, std::uint64_t bytes) const override;
    Result<DisplayBuffer> export_buffer(std::string_view name, std::uint64_t bytes,
                                        ExportedMemory& exported) const override;
    Result<DisplayBuffer> map_buffer(std::string_view name, std::uint64_t bytes) const override;
    Result<DisplayBuffer> import_pages(std::string_view name, std::span<std::byte> pages) const override;
    Result<std::shared_ptr<Image>> create_image(std::string_view name, const graph::ImageDesc& desc) const override;
    ImageHandles handles_of(const Image& image) const override;
    std::uint32_t layout_of(const Image& image) const override;
    void discard(Image& image) const override;
    Result<std::unique_ptr<DisplayLane>> create_lane(graph::Lane lane, profile::Recorder* recorder,
                                                     Sharing sharing) const override;
    std::vector<graph::Image> copy_to_images(graph::FrameGraph& frame, graph::Lane lane,
                                             std::span<const graph::Buffer> pixels,
                                             std::span<const graph::Image> images) const override;
    void hand_over(graph::FrameGraph& frame, graph::Lane lane, graph::Image image, graph::Access access) const override;

    VkDevice handle() const { return handle_; }
    VkPhysicalDevice physical() const { return report_.handle; }
    const Instance& instance() const { return instance_; }
    const VolkDeviceTable& table() const { return *table_; }
    const DeviceReport& report() const override { return report_; }
    const VkPhysicalDeviceLimits& limits() const { return limits_; }
    /// The lane's queue. Only for the three Vulkan lanes.
    const Queue& queue(graph::Lane lane) const;
    /// Distinct queue families of the lanes. Graph resources are shared among them concurrently, because a plan's
    /// barriers do not transfer ownership.
    std::span<const std::uint32_t> families() const { return families_; }
    MemoryPool& memory() const { return *memory_; }
    DeviceClock& clock() const { return *clock_; }
    VkPipelineCache pipeline_cache() const { return pipelines_->handle(); }
    /// Linear filtering, clamped to the edge.
    VkSampler linear_sampler() const { return linear_sampler_; }

    /// The size of a frame graph's image in an arena, for graph::FrameGraphOptions::image_footprint.
    graph::Footprint footprint(const graph::ImageDesc& desc) const;

    /// Gives `object` a name for validation messages and debuggers. Does nothing without validation.
    void set_name(VkObjectType type, std::uint64_t object, std::string_view name) const;
    /// An Error of this device: code from `result`, sentence "<device>: <doing>: VK_ERROR_...".
    tl::unexpected<Error> error(VkResult result, std::string_view doing) const;
    /// Blocks until the queues have finished what they were given, without holding their mutexes. Errors: DeviceLost,
    /// also if a queue has not finished after `patience`.
    Result<void> wait_idle(Nanoseconds patience = graph::kWorkPatience) const;
    /// The same for one lane's queue.
    Result<void> wait_idle(graph::Lane lane, Nanoseconds patience = graph::kWorkPatience) const;
    /// Takes over a timeline semaphore (or null) whose batches have all signalled, and destroys it later: after 64
    /// others, or with the device. A driver that keeps timelines on its own thread, as Mesa's vk_queue does, reads what
    /// a batch has waited for again after the batch's last signal.
    void retire(VkSemaphore semaphore) const;
    static constexpr std::size_t kRetired = 64;
    void keep(std::shared_ptr<const void> object) const override;
    void share_gpu_with(graph::Timeline& lane) const override;
    GpuLosses& losses() const override { return *losses_; }
    /// Lanes on this device's queues, from their creation to their end.
    void add_lane(const VulkanLane& lane) const;
    void remove_lane(const VulkanLane& lane) const;
    /// Whether any of them uses the queue of `lane`.
    bool serves_lanes(graph::Lane lane) const;
    /// Whether a batch on the queue of `lane` waits for a point that is not reached: nothing after it can move.
    bool waits_for_a_point(graph::Lane lane) const;
    /// Records commands for the graphics queue with `record`, submits them and waits: for set-up, not for frames.
    /// Errors: DeviceLost, also after `patience`; the caller then passes what the commands use to keep(), because it is
    /// still in use.
    Result<void> run_once(std::string_view what, const std::function<void(VkCommandBuffer)>& record,
                          Nanoseconds patience = graph::kWorkPatience) const;

  private:
    Device(const Instance& instance, DeviceReport report, VkDevice handle, bool owned);
    Result<void> finish();
    void set_queues(std::array<Queue, 3> queues);
    bool settle() const;
    std::vector<Queue> distinct_queues() const;
    void stop_lost_work() const;
    VkResult finish(const Queue& queue, Nanoseconds patience, VkFence& late) const;
    Result<void> wait_idle(std::span<const Queue> queues, Nanoseconds patience) const;

    const Instance& instance_;
    DeviceReport report_;
    VkDevice handle_;
    bool owned_;
    VkPhysicalDeviceLimits limits_{};
    std::unique_ptr<VolkDeviceTable> table_;
    std::array<Queue, 3> queues_;  // graphics, async compute, transfer
    std::array<std::mutex, 3> mutexes_;
    std::vector<std::uint32_t> families_;
    mutable Mutex retired_mutex_;
    mutable std::deque<VkSemaphore> retired_ KG_GUARDED_BY(retired_mutex_);  // oldest first
    mutable std::vector<std::shared_ptr<const void>> kept_ KG_GUARDED_BY(retired_mutex_);
    std::shared_ptr<GpuLosses> losses_ = std::make_shared<GpuLosses>();  // noted by timelines that may outlive it
    mutable Mutex lanes_mutex_;
    mutable std::vector<const VulkanLane*> lanes_ KG_GUARDED_BY(lanes_mutex_);
    std::unique_ptr<MemoryPool> memory_;
    std::unique_ptr<DeviceClock> clock_;
    std::unique_ptr<PipelineCache> pipelines_;
    VkSampler linear_sampler_ = VK_NULL_HANDLE;
};

}  // namespace kinetograph::vulkan
