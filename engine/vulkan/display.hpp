// Display: what frames need of a Vulkan device: memory and timelines that another API shares, images, copies to them.
// interop and streams know Vulkan by it alone, and are the same in a build without Vulkan's headers.
#pragma once

#include <kinetograph/engine/graph/executor.hpp>
#include <kinetograph/engine/vulkan/adopted_device.hpp>
#include <kinetograph/engine/vulkan/device_report.hpp>
#include <kinetograph/engine/vulkan/gpu_losses.hpp>

#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace kinetograph::profile {
class Recorder;
}

namespace kinetograph::vulkan {

class Buffer;
class Device;
class Image;

/// Whether another API may import a semaphore: as an opaque file descriptor, by Display::export_timeline().
enum class Sharing : std::uint8_t { Private, Exportable };

/// A timeline, and the semaphore in which Vulkan sees it; null: none.
struct SemaphoreTimeline {
    std::shared_ptr<graph::Timeline> timeline;
    VkSemaphore semaphore = nullptr;
};

/// A buffer that another API may use too.
struct DisplayBuffer {
    std::shared_ptr<Buffer> buffer;
    VkBuffer handle = nullptr;
    std::byte* mapped = nullptr;  ///< null in device-local memory
};

/// Memory of a buffer as an opaque file descriptor, which the importer closes.
struct ExportedMemory {
    int fd = -1;
    std::uint64_t bytes = 0;  ///< of the whole allocation
    bool dedicated = false;   ///< allocated for the one buffer
};

struct ImageHandles {
    VkImage image = nullptr;
    VkImageView view = nullptr;
    std::uint32_t format = 0;  ///< VkFormat
};

/// A lane of the device.
class DisplayLane : public graph::LaneBackend {
  public:
    /// timeline(), with its semaphore.
    virtual SemaphoreTimeline own() const = 0;
    /// The same values in a semaphore that another API may import; null in a private lane. It is a second semaphore,
    /// because validation layers do not learn from an exported one that work has ended.
    virtual SemaphoreTimeline exported() const = 0;
    /// Records the spans of everything that has completed. submit() and wait() do this too.
    virtual void collect() = 0;
};

/// vulkan::Device answers it. What it creates is destroyed before it, and only once it has finished using it.
class Display {
  public:
    virtual ~Display() = default;
    virtual const Device& device() const = 0;  ///< for code that has Vulkan's headers
    virtual ApplicationVulkan handles() const = 0;
    virtual const DeviceReport& report() const = 0;
    /// Whether the lane's queue is also the one that draws.
    virtual bool draws_on(graph::Lane lane) const = 0;
    /// Checks that so many bytes are free for the device. Errors: OutOfMemory ("llvmpipe: `what` need 1.5 GiB, ...").
    virtual Result<void> check_free(std::uint64_t bytes, std::string_view what) const = 0;
    /// Keeps objects that abandoned work may still use until the queues are idle at the device's end.
    virtual void keep(std::shared_ptr<const void> object) const = 0;
    /// `lane` is the timeline of another API's lane on the same GPU, whose loss is noted in losses() when the timeline
    /// reports it. Does nothing on an adopted device: the host uses its queues too.
    virtual void share_gpu_with(graph::Timeline& lane) const = 0;
    /// While they last, the device's waits take no longer than GpuLosses::patience_for() says.
    virtual GpuLosses& losses() const = 0;

    /// A timeline that starts at 0. Errors: Unsupported (exportable, but VK_KHR_external_semaphore_fd is absent).
    virtual Result<SemaphoreTimeline> create_timeline(std::string name, Sharing sharing) const = 0;
    /// Wraps the application's semaphore, which the application destroys after the result.
    virtual std::shared_ptr<graph::Timeline> borrow_timeline(VkSemaphore semaphore) const = 0;
    /// A new opaque file descriptor of an exportable timeline; the importer closes it.
    virtual Result<int> export_timeline(const SemaphoreTimeline& timeline) const = 0;

    /// The semaphore of a timeline that this device has made; null: it is another's.
    virtual VkSemaphore semaphore_of(const graph::Timeline& timeline) const = 0;

    /// Device-local memory whose address kernels get (BufferOptions::addressed). Errors: OutOfMemory, naming `name`.
    virtual Result<DisplayBuffer> create_buffer(std::string_view name, std::uint64_t bytes) const = 0;
    /// Device-local memory that another API imports as `exported`. Errors: OutOfMemory, Unsupported, naming `name`.
    virtual Result<DisplayBuffer> export_buffer(std::string_view name, std::uint64_t bytes,
                                                ExportedMemory& exported) const = 0;
    /// Mapped memory of whole pages, for registration with another API. Errors: OutOfMemory, naming `name`.
    virtual Result<DisplayBuffer> map_buffer(std::string_view name, std::uint64_t bytes) const = 0;
    /// A buffer over whole pages of the host, such as pinned memory of an accelerator, which must outlive it. Errors:
    /// Unsupported (no VK_EXT_external_memory_host, or a driver that declines), InvalidArgument (alignment).
    virtual Result<DisplayBuffer> import_pages(std::string_view name, std::span<std::byte> pages) const = 0;

    /// Errors: OutOfMemory; InvalidArgument (a side of 0 or beyond the device's limit).
    virtual Result<std::shared_ptr<Image>> create_image(std::string_view name, const graph::ImageDesc& desc) const = 0;
    virtual ImageHandles handles_of(const Image& image) const = 0;
    virtual std::uint32_t layout_of(const Image& image) const = 0;  ///< VkImageLayout after everything recorded so far
    virtual void discard(Image& image) const = 0;  ///< its contents and its layout, before it is written anew

    /// See VulkanLane::create.
    virtual Result<std::unique_ptr<DisplayLane>> create_lane(graph::Lane lane, profile::Recorder* recorder,
                                                             Sharing sharing) const = 0;
    /// Declares a pass that copies tightly packed pixels to images, one buffer each. Returns the images' contents.
    virtual std::vector<graph::Image> copy_to_images(graph::FrameGraph& frame, graph::Lane lane,
                                                     std::span<const graph::Buffer> pixels,
                                                     std::span<const graph::Image> images) const = 0;
    /// Declares a pass that does nothing but bring an image into the layout of `access`.
    virtual void hand_over(graph::FrameGraph& frame, graph::Lane lane, graph::Image image,
                           graph::Access access) const = 0;
};

/// A device of the library's own, with its instance: the best one, or the best whose name contains `name`. Errors:
/// NotFound (no loader, no device), Unsupported (every device and why it was declined; a build without Vulkan).
Result<std::shared_ptr<const Display>> open_display(const std::string& name = "");
/// The application's device. Errors: those of Device::adopt; Unsupported (a build without Vulkan).
Result<std::shared_ptr<const Display>> adopt_display(const ApplicationVulkan& application);

}  // namespace kinetograph::vulkan
