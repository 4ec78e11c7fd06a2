// Device as a Display.
#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/buffer.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/image.hpp>
#include <kinetograph/engine/vulkan/lane.hpp>
#include <kinetograph/engine/vulkan/vk_result.hpp>

namespace kinetograph::vulkan {
namespace {

DisplayBuffer shown(std::unique_ptr<Buffer> buffer) {
    const VkBuffer handle = buffer->handle();
    std::byte* const mapped = buffer->mapped();
    return {std::move(buffer), handle, mapped};
}

void copy_to_image(const BufferRange& from, const Image& image, PassContext& context) {
    VkBufferImageCopy region{};
    region.bufferOffset = from.offset;
    region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageExtent = {image.desc().width, image.desc().height, 1};
    context.table().vkCmdCopyBufferToImage(context.commands(), from.buffer, image.handle(),
                                           VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
}

/// A device that keeps its instance.
struct WithInstance {
    std::unique_ptr<Instance> instance;
    std::unique_ptr<Device> device;
};

std::shared_ptr<const Display> shared(WithInstance made) {
    auto kept = std::make_shared<WithInstance>(std::move(made));
    return {kept, kept->device.get()};
}

}  // namespace

ApplicationVulkan Device::handles() const {
    const auto queue_of = [this](graph::Lane lane) {
        const Queue& queue = this->queue(lane);
        return AdoptedQueue{queue.handle, queue.family, queue.mutex};
    };
    return {.instance = instance_.handle(),
            .get_instance_proc_addr = instance_.loader().get_instance_proc_addr(),
            .device = {.physical = physical(),
                       .device = handle_,
                       .graphics = queue_of(graph::Lane::Graphics),
                       .compute = queue_of(graph::Lane::AsyncCompute),
                       .transfer = queue_of(graph::Lane::Transfer),
                       .extensions = {}}};
}

bool Device::draws_on(graph::Lane lane) const { return queue(lane).handle == queue(graph::Lane::Graphics).handle; }

Result<void> Device::check_free(std::uint64_t bytes, std::string_view what) const {
    const std::uint64_t free = memory_->bytes_free(MemoryUse::DeviceLocal);
    if (bytes <= free) return {};
    return kinetograph::fail(ErrorCode::OutOfMemory, "{}: {} need {}, {} are free", report_.name, what,
                             human_bytes(bytes), human_bytes(free));
}

Result<SemaphoreTimeline> Device::create_timeline(std::string name, Sharing sharing) const {
    KG_TRY(auto made, TimelineSemaphore::create(*this, std::move(name), sharing));
    return SemaphoreTimeline{made, made->handle()};
}

std::shared_ptr<graph::Timeline> Device::borrow_timeline(VkSemaphore semaphore) const {
    return TimelineSemaphore::borrow(*this, semaphore);
}

Result<int> Device::export_timeline(const SemaphoreTimeline& timeline) const {
    return export_timeline_fd(*this, timeline.semaphore, timeline.timeline->name());
}

VkSemaphore Device::semaphore_of(const graph::Timeline& timeline) const {
    const auto* own = dynamic_cast<const TimelineSemaphore*>(&timeline);
    return own != nullptr && own->owner() == this ? own->handle() : VK_NULL_HANDLE;
}

Result<DisplayBuffer> Device::create_buffer(std::string_view name, std::uint64_t bytes) const {
    return Buffer::create(*this, name, bytes, {.addressed = true}).map(shown);
}

Result<DisplayBuffer> Device::export_buffer(std::string_view name, std::uint64_t bytes,
                                            ExportedMemory& exported) const {
    KG_TRY(auto buffer, Buffer::create(*this, name, bytes, {.exportable = true}));
    KG_TRY(const int fd, buffer->export_fd());
    exported = {fd, buffer->allocation().bytes(), buffer->allocation().dedicated()};
    return shown(std::move(buffer));
}

Result<DisplayBuffer> Device::map_buffer(std::string_view name, std::uint64_t bytes) const {
    return Buffer::create(*this, name, bytes, {.memory = MemoryUse::Readback, .whole_pages = true}).map(shown);
}

Result<DisplayBuffer> Device::import_pages(std::string_view name, std::span<std::byte> pages) const {
    return Buffer::import_host(*this, name, pages).map(shown);
}

Result<std::shared_ptr<Image>> Device::create_image(std::string_view name, const graph::ImageDesc& desc) const {
    KG_TRY(auto image, Image::create(*this, name, desc));
    return std::shared_ptr<Image>(std::move(image));
}

ImageHandles Device::handles_of(const Image& image) const {
    return {image.handle(), image.view(), static_cast<std::uint32_t>(to_vk(image.desc().format))};
}

std::uint32_t Device::layout_of(const Image& image) const { return image.layout(); }

void Device::discard(Image& image) const { image.set_layout(VK_IMAGE_LAYOUT_UNDEFINED); }

Result<std::unique_ptr<DisplayLane>> Device::create_lane(graph::Lane lane, profile::Recorder* recorder,
                                                         Sharing sharing) const {
    KG_TRY(auto made, VulkanLane::create(*this, lane, recorder, sharing));
    return std::unique_ptr<DisplayLane>(std::move(made));
}

std::vector<graph::Image> Device::copy_to_images(graph::FrameGraph& frame, graph::Lane lane,
                                                 std::span<const graph::Buffer> pixels,
                                                 std::span<const graph::Image> images) const {
    struct Copies {
        std::vector<graph::Buffer> pixels;
        std::vector<graph::Image> images;
    };
    const Copies& copied = frame.add_pass<Copies>(
        "frames to images", lane,
        [&](graph::PassBuilder& pass, Copies& data) {
            for (std::size_t i = 0; i < images.size(); ++i) {
                data.pixels.push_back(pass.read(pixels[i], graph::Access::TransferRead));
                data.images.push_back(pass.write(images[i], graph::Access::TransferWrite));
            }
        },
        [](const Copies& data, PassContext& context) {
            for (std::size_t i = 0; i < data.images.size(); ++i)
                copy_to_image(context.range(data.pixels[i]), context.image(data.images[i]), context);
        });
    return copied.images;
}

void Device::hand_over(graph::FrameGraph& frame, graph::Lane lane, graph::Image image, graph::Access access) const {
    struct HandOver {
        graph::Image image;
    };
    frame.add_pass<HandOver>(
        "hand over", lane,
        [&](graph::PassBuilder& pass, HandOver& data) {
            data.image = pass.read(image, access);
            pass.has_side_effect();
        },
        [](const HandOver&, PassContext&) {});  // the pass exists for its layout change
}

Result<std::shared_ptr<const Display>> open_display(const std::string& name) {
    WithInstance made;
    KG_TRY(const auto loader, Loader::open());
    KG_TRY(made.instance, Instance::create(loader));
    KG_TRY(made.device, Device::create(*made.instance, {.name_contains = name}));
    return shared(std::move(made));
}

Result<std::shared_ptr<const Display>> adopt_display(const ApplicationVulkan& application) {
    WithInstance made;
    made.instance = Instance::adopt(application.instance, application.get_instance_proc_addr);
    KG_TRY(made.device, Device::adopt(*made.instance, application.device));
    return shared(std::move(made));
}

}  // namespace kinetograph::vulkan
