#include <kinetograph/engine/present/readback.hpp>

#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/graph_memory.hpp>
#include <kinetograph/engine/vulkan/pass_context.hpp>

#include <utility>

namespace kinetograph::present {
namespace {

struct ReadbackData {
    graph::Image image;
    graph::Buffer pixels;
};

bool is_bgra(graph::PixelFormat format) {
    return format == graph::PixelFormat::Bgra8Unorm || format == graph::PixelFormat::Bgra8Srgb;
}

void copy_image(const ReadbackData& data, vulkan::PassContext& context) {
    const vulkan::Image& image = context.image(data.image);
    const vulkan::BufferRange pixels = context.range(data.pixels);
    VkBufferImageCopy2 region{};
    region.sType = VK_STRUCTURE_TYPE_BUFFER_IMAGE_COPY_2;
    region.bufferOffset = pixels.offset;
    region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageExtent = {image.desc().width, image.desc().height, 1};
    VkCopyImageToBufferInfo2 info{};
    info.sType = VK_STRUCTURE_TYPE_COPY_IMAGE_TO_BUFFER_INFO_2;
    info.srcImage = image.handle();
    info.srcImageLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    info.dstBuffer = pixels.buffer;
    info.regionCount = 1;
    info.pRegions = &region;
    context.table().vkCmdCopyImageToBuffer2(context.commands(), &info);
}

}  // namespace

Result<void> Readback::declare(graph::FrameGraph& frame, graph::Image image, const graph::ImageDesc& desc) {
    if (graph::bytes_per_pixel(desc.format) != 4 || desc.format == graph::PixelFormat::R32Float)
        return fail(ErrorCode::Unsupported, "pictures of format {} cannot be read back as 8-bit RGBA",
                    graph::to_string(desc.format));
    const std::uint64_t bytes = std::uint64_t{desc.width} * desc.height * 4;
    if (!buffer_ || buffer_->bytes() != bytes) {
        KG_TRY(buffer_, vulkan::Buffer::create(
                            device_, "readback", bytes,
                            {.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT, .memory = vulkan::MemoryUse::Readback}));
    }
    desc_ = desc;
    const graph::Buffer pixels = frame.import_buffer(
        "readback", {.bytes = bytes, .domain = graph::MemoryDomain::Graphics}, physical_of(*buffer_));
    frame.add_pass<ReadbackData>(
        "readback", graph::Lane::Graphics,
        [&](graph::PassBuilder& pass, ReadbackData& data) {
            data.image = pass.read(image, graph::Access::TransferRead);
            data.pixels = pass.write(pixels, graph::Access::TransferWrite);
            pass.has_side_effect();
        },
        [](const ReadbackData& data, vulkan::PassContext& context) { copy_image(data, context); });
    return {};
}

Picture Readback::picture() const {
    Picture picture{desc_.width, desc_.height, {}};
    const auto* pixels = reinterpret_cast<const std::uint8_t*>(buffer_->mapped());
    picture.rgba.assign(pixels, pixels + std::size_t{desc_.width} * desc_.height * 4);
    for (std::size_t i = 0; i < picture.rgba.size(); i += 4) {
        if (is_bgra(desc_.format)) std::swap(picture.rgba[i], picture.rgba[i + 2]);
        picture.rgba[i + 3] = 255;
    }
    return picture;
}

}  // namespace kinetograph::present
