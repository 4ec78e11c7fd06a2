#include <kinetograph/engine/vulkan/image.hpp>

#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/buffer.hpp>
#include <kinetograph/engine/vulkan/device.hpp>

#include <cstring>

namespace kinetograph::vulkan {

VkFormat to_vk(graph::PixelFormat format) {
    switch (format) {
        case graph::PixelFormat::Rgba8Unorm:
            return VK_FORMAT_R8G8B8A8_UNORM;
        case graph::PixelFormat::Rgba8Srgb:
            return VK_FORMAT_R8G8B8A8_SRGB;
        case graph::PixelFormat::Bgra8Unorm:
            return VK_FORMAT_B8G8R8A8_UNORM;
        case graph::PixelFormat::Bgra8Srgb:
            return VK_FORMAT_B8G8R8A8_SRGB;
        case graph::PixelFormat::Rgba16Float:
            return VK_FORMAT_R16G16B16A16_SFLOAT;
        case graph::PixelFormat::R32Float:
            return VK_FORMAT_R32_SFLOAT;
        case graph::PixelFormat::Rgb32Float:
            return VK_FORMAT_R32G32B32_SFLOAT;
        case graph::PixelFormat::Rgb16Float:
            return VK_FORMAT_R16G16B16_SFLOAT;
    }
    return VK_FORMAT_UNDEFINED;
}

bool encodes_srgb(graph::PixelFormat format) {
    return format == graph::PixelFormat::Rgba8Srgb || format == graph::PixelFormat::Bgra8Srgb;
}

VkImageUsageFlags graph_image_usage(graph::PixelFormat format) {
    constexpr VkImageUsageFlags kAlways = VK_IMAGE_USAGE_SAMPLED_BIT | VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT |
                                          VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    switch (format) {
        case graph::PixelFormat::Rgba8Unorm:
        case graph::PixelFormat::Rgba16Float:
        case graph::PixelFormat::R32Float:
            return kAlways | VK_IMAGE_USAGE_STORAGE_BIT;  // mandatory storage formats; the others are not
        default:
            return kAlways;
    }
}

VkImageCreateInfo graph_image_info(const graph::ImageDesc& desc, std::span<const std::uint32_t> families) {
    VkImageCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO;
    info.imageType = VK_IMAGE_TYPE_2D;
    info.format = to_vk(desc.format);
    info.extent = {desc.width, desc.height, 1};
    info.mipLevels = info.arrayLayers = 1;
    info.samples = VK_SAMPLE_COUNT_1_BIT;
    info.tiling = VK_IMAGE_TILING_OPTIMAL;
    info.usage = graph_image_usage(desc.format);
    info.sharingMode = families.size() > 1 ? VK_SHARING_MODE_CONCURRENT : VK_SHARING_MODE_EXCLUSIVE;
    info.queueFamilyIndexCount = families.size() > 1 ? static_cast<std::uint32_t>(families.size()) : 0;
    info.pQueueFamilyIndices = families.data();
    info.initialLayout = VK_IMAGE_LAYOUT_UNDEFINED;
    return info;
}

Result<std::unique_ptr<Image>> Image::create(const Device& device, std::string_view name, const graph::ImageDesc& desc,
                                             const ImageOptions& options) {
    const std::uint32_t limit = device.limits().maxImageDimension2D;
    if (desc.width == 0 || desc.height == 0 || desc.width > limit || desc.height > limit)
        return fail(ErrorCode::InvalidArgument, "image \"{}\" is {} x {}, but sides of 1 to {} are possible on {}",
                    name, desc.width, desc.height, limit, device.report().name);
    std::unique_ptr<Image> image(new Image(device, name, desc));
    VkExternalMemoryImageCreateInfo external{};
    external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO;
    external.handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    VkImageCreateInfo info = graph_image_info(desc, device.families());
    info.pNext = options.exportable ? &external : nullptr;
    if (const VkResult result = device.table().vkCreateImage(device.handle(), &info, nullptr, &image->handle_);
        result != VK_SUCCESS)
        return device.error(result, fmt::format("creating image \"{}\" of {} x {}", name, desc.width, desc.height));

    VkMemoryDedicatedRequirements dedicated{};
    dedicated.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS;
    VkMemoryRequirements2 requirements{};
    requirements.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2;
    requirements.pNext = &dedicated;
    VkImageMemoryRequirementsInfo2 query{};
    query.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_REQUIREMENTS_INFO_2;
    query.image = image->handle_;
    device.table().vkGetImageMemoryRequirements2(device.handle(), &query, &requirements);
    // An image that another API maps gets a dedicated allocation: some drivers require it, elsewhere it costs nothing.
    KG_TRY(image->allocation_, device.memory().allocate(
                                   {.name = name,
                                    .requirements = requirements.memoryRequirements,
                                    .optimal_image = true,
                                    .exportable = options.exportable,
                                    .dedicated = dedicated.requiresDedicatedAllocation == VK_TRUE || options.exportable,
                                    .image = image->handle_}));
    if (const VkResult result = device.table().vkBindImageMemory(
            device.handle(), image->handle_, image->allocation_.memory(), image->allocation_.offset());
        result != VK_SUCCESS)
        return device.error(result, fmt::format("binding memory of image \"{}\"", name));
    KG_CHECK(image->create_view());
    return image;
}

Result<std::unique_ptr<Image>> Image::wrap(const Device& device, std::string_view name, VkImage handle,
                                           const graph::ImageDesc& desc, VkImageLayout layout) {
    std::unique_ptr<Image> image(new Image(device, name, desc));
    image->handle_ = handle;
    image->owned_ = false;
    image->layout_ = layout;
    KG_CHECK(image->create_view());
    return image;
}

Result<void> Image::create_view() {
    VkImageViewCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO;
    info.image = handle_;
    info.viewType = VK_IMAGE_VIEW_TYPE_2D;
    info.format = to_vk(desc_.format);
    info.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    if (const VkResult result = device_.table().vkCreateImageView(device_.handle(), &info, nullptr, &view_);
        result != VK_SUCCESS)
        return device_.error(result, fmt::format("creating a view of image \"{}\"", name_));
    device_.set_name(VK_OBJECT_TYPE_IMAGE, reinterpret_cast<std::uint64_t>(handle_), name_);
    return {};
}

Image::~Image() {
    device_.table().vkDestroyImageView(device_.handle(), view_, nullptr);
    if (owned_) device_.table().vkDestroyImage(device_.handle(), handle_, nullptr);
}

Result<int> Image::export_fd() const { return export_memory_fd(device_, allocation_, name_); }

namespace {

void transition(const Device& device, VkCommandBuffer commands, const Image& image,
                const VkImageMemoryBarrier2& scopes) {
    VkImageMemoryBarrier2 barrier = scopes;
    barrier.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2;
    barrier.srcQueueFamilyIndex = barrier.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
    barrier.image = image.handle();
    barrier.subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    VkDependencyInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
    info.imageMemoryBarrierCount = 1;
    info.pImageMemoryBarriers = &barrier;
    device.table().vkCmdPipelineBarrier2(commands, &info);
}

}  // namespace

Result<void> upload_pixels(const Device& device, Image& image, std::span<const std::byte> pixels) {
    KG_TRY(auto created,
           Buffer::create(device, image.name() + " upload", pixels.size(), {.memory = MemoryUse::Upload}));
    const std::shared_ptr<Buffer> staging = std::move(created);
    std::memcpy(staging->mapped(), pixels.data(), pixels.size());
    VkBufferImageCopy region{};
    region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageExtent = {image.desc().width, image.desc().height, 1};
    VkImageMemoryBarrier2 before{}, after{};
    before.dstStageMask = after.srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT;
    before.dstAccessMask = after.srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT;
    before.oldLayout = VK_IMAGE_LAYOUT_UNDEFINED;
    before.newLayout = after.oldLayout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
    after.dstStageMask = VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT | VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
    after.dstAccessMask = VK_ACCESS_2_SHADER_READ_BIT;
    after.newLayout = VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL;
    const auto done = device.run_once(fmt::format("uploading \"{}\"", image.name()), [&](VkCommandBuffer commands) {
        transition(device, commands, image, before);
        device.table().vkCmdCopyBufferToImage(commands, staging->handle(), image.handle(),
                                              VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
        transition(device, commands, image, after);
    });
    if (!done) device.keep(staging);
    KG_CHECK(done);
    image.set_layout(VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
    return {};
}

}  // namespace kinetograph::vulkan
