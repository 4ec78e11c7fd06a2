#include <kinetograph/samples/viewer/pixel_probe.hpp>

#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/graph_memory.hpp>

namespace kinetograph::viewer {
namespace {

constexpr std::uint64_t kPixelBytes = 4;

struct PixelData {
    graph::Image texture;
    graph::Buffer pixel;
};

void copy_pixel(const PixelData& data, const PixelPosition& position, vulkan::PassContext& context) {
    const vulkan::BufferRange pixel = context.range(data.pixel);
    VkBufferImageCopy region{};
    region.bufferOffset = pixel.offset;
    region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageOffset = {static_cast<std::int32_t>(position.x), static_cast<std::int32_t>(position.y), 0};
    region.imageExtent = {1, 1, 1};
    context.table().vkCmdCopyImageToBuffer(context.commands(), context.image(data.texture).handle(),
                                           VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, pixel.buffer, 1, &region);
}

}  // namespace

Result<std::unique_ptr<PixelProbe>> PixelProbe::create(const vulkan::Device& device,
                                                       const vulkan::VulkanLane& graphics) {
    std::unique_ptr<PixelProbe> probe(new PixelProbe(graphics));
    KG_TRY(probe->pixel_,
           vulkan::Buffer::create(device, "pixel", kPixelBytes,
                                  {.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT, .memory = vulkan::MemoryUse::Readback}));
    return probe;
}

void PixelProbe::declare(graph::FrameGraph& graph, graph::Image texture, const PixelPosition& position) {
    look();
    wanted_ = true;
    if (asked_) return;
    asked_ = Asked{position};
    const graph::Buffer pixel = graph.import_buffer(
        "pixel", {.bytes = kPixelBytes, .domain = graph::MemoryDomain::Graphics}, physical_of(*pixel_));
    graph.add_pass<PixelData>(
        "pixel", graph::Lane::Graphics,
        [&](graph::PassBuilder& pass, PixelData& data) {
            data.texture = pass.read(texture, graph::Access::TransferRead);
            data.pixel = pass.write(pixel, graph::Access::TransferWrite);
            pass.has_side_effect();
        },
        [position](const PixelData& data, vulkan::PassContext& context) { copy_pixel(data, position, context); });
}

void PixelProbe::submitted(std::uint64_t value) {
    if (asked_ && asked_->value == 0) asked_->value = value;
}

std::optional<PixelValue> PixelProbe::value() {
    look();
    return answer_;
}

void PixelProbe::forget() {
    wanted_ = false;
    answer_.reset();
}

void PixelProbe::look() {
    if (!asked_ || asked_->value == 0 || graphics_.completed() < asked_->value) return;
    const auto* rgba = reinterpret_cast<const std::uint8_t*>(pixel_->mapped());
    if (wanted_) answer_ = PixelValue{asked_->position, {rgba[0], rgba[1], rgba[2]}};
    asked_.reset();
}

}  // namespace kinetograph::viewer
