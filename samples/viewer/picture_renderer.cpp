#include <kinetograph/samples/viewer/picture_renderer.hpp>

#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/graph_memory.hpp>
#include <kinetograph/engine/vulkan/pass_context.hpp>

#include <cstring>

namespace kinetograph::viewer {
namespace {

constexpr std::uint32_t kVertexShader[] = {
#include "fullscreen.vert.inc"
};
constexpr std::uint32_t kFragmentShader[] = {
#include "picture.frag.inc"
};
constexpr std::uint32_t kReducedFragmentShader[] = {
#include "picture_reduced.frag.inc"
};

// Background: dark, but brighter than the picture's black. sRGB-encoded.
constexpr VkClearColorValue kBackground{{0.055F, 0.06F, 0.07F, 1.0F}};

struct ReducedConstants {
    float size[2];
};
struct UploadData {
    graph::Image texture;
};
struct PictureData {
    graph::Image texture, target;
};

void copy_pixels(const UploadData& data, std::span<const std::byte> rgba, vulkan::PassContext& context) {
    const auto staging = context.upload(rgba.size());
    if (!staging) return;
    std::memcpy(staging->data, rgba.data(), rgba.size());
    const vulkan::Image& texture = context.image(data.texture);
    VkBufferImageCopy region{};
    region.bufferOffset = staging->offset;
    region.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageExtent = {texture.desc().width, texture.desc().height, 1};
    context.table().vkCmdCopyBufferToImage(context.commands(), staging->buffer, texture.handle(),
                                           VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, &region);
}

void draw(const vulkan::Image& texture, const vulkan::Pipeline& pipeline, bool reduces, const Rectangle& place,
          vulkan::PassContext& context) {
    const auto width = static_cast<float>(place.width), height = static_cast<float>(place.height);
    const VkViewport viewport{static_cast<float>(place.x), static_cast<float>(place.y), width, height, 0.0F, 1.0F};
    const VkRect2D scissor{{place.x, place.y}, {place.width, place.height}};
    context.bind(pipeline, {vulkan::Descriptor::sampled(texture, context.device().linear_sampler())});
    const ReducedConstants constants{{width, height}};
    if (reduces) context.push_constants(pipeline, &constants, sizeof(constants));
    context.table().vkCmdSetViewport(context.commands(), 0, 1, &viewport);
    context.table().vkCmdSetScissor(context.commands(), 0, 1, &scissor);
    context.table().vkCmdDraw(context.commands(), 3, 1, 0, 0);
}

}  // namespace

Result<std::unique_ptr<PictureRenderer>> PictureRenderer::create(const vulkan::Device& device,
                                                                 vulkan::VulkanLane& graphics,
                                                                 graph::PixelFormat target) {
    std::unique_ptr<PictureRenderer> renderer(new PictureRenderer(device, graphics));
    KG_TRY(renderer->probe_, PixelProbe::create(device, graphics));
    vulkan::GraphicsPipelineDesc desc{.name = "picture",
                                      .vertex_shader = kVertexShader,
                                      .fragment_shader = kFragmentShader,
                                      .bindings = {vulkan::BindingKind::SampledImage},
                                      .color_format = target,
                                      .constants = {vulkan::encodes_srgb(target) ? 1U : 0U}};
    KG_TRY(renderer->pipeline_, vulkan::Pipeline::create(device, desc));
    desc.name = "picture, reduced";
    desc.fragment_shader = kReducedFragmentShader;
    desc.push_constant_bytes = sizeof(ReducedConstants);
    KG_TRY(renderer->reduced_pipeline_, vulkan::Pipeline::create(device, desc));
    return renderer;
}

Result<graph::Image> PictureRenderer::declare_texture(graph::FrameGraph& graph, const Frame& frame) {
    if (frame.pixels->record().image != nullptr) return borrow(graph, *frame.pixels);
    return upload(graph, frame);
}

graph::Image PictureRenderer::borrow(graph::FrameGraph& graph, LentFrame& frame) {
    lent_ = &frame;
    const interop::FrameRecord& record = frame.record();
    return graph.import_image("frame", record.image->desc(), physical_of(*record.image),
                              {vulkan::TimelineSemaphore::borrow(device_, record.ready.semaphore), record.ready.value});
}

Result<graph::Image> PictureRenderer::upload(graph::FrameGraph& graph, const Frame& frame) {
    KG_CHECK(fit_texture(frame));
    const graph::Image texture = graph.import_image("frame", texture_->desc(), physical_of(*texture_));
    if (uploaded_ && frame.index == index_ && frame.decoded_at == decoded_at_) return texture;
    uploaded_ = true;
    index_ = frame.index;
    decoded_at_ = frame.decoded_at;
    return graph
        .add_pass<UploadData>(
            "upload", graph::Lane::Transfer,
            [&](graph::PassBuilder& pass, UploadData& data) {
                data.texture = pass.write(texture, graph::Access::TransferWrite);
            },
            [rgba = frame.pixels->record().host](const UploadData& data, vulkan::PassContext& context) {
                copy_pixels(data, rgba, context);
            })
        .texture;
}

/// One texture is enough: the graph orders an upload after the draw of the previous execution.
Result<void> PictureRenderer::fit_texture(const Frame& frame) {
    const graph::ImageDesc desc{.width = static_cast<std::uint32_t>(frame.width),
                                .height = static_cast<std::uint32_t>(frame.height),
                                .format = graph::PixelFormat::Rgba8Unorm};
    if (texture_ && texture_->desc().width == desc.width && texture_->desc().height == desc.height) return {};
    KG_CHECK(device_.wait_idle());
    uploaded_ = false;
    KG_TRY(texture_, vulkan::Image::create(device_, "frame", desc));
    return {};
}

Result<graph::Image> PictureRenderer::declare(graph::FrameGraph& graph, graph::Image target,
                                              const graph::ImageDesc& target_desc, const Subject& subject) {
    graph::Image texture;
    bool reduces = false;
    lent_ = nullptr;
    if (subject.frame != nullptr) {
        const auto width = static_cast<std::uint32_t>(subject.frame->width),
                   height = static_cast<std::uint32_t>(subject.frame->height);
        KG_TRY(texture, declare_texture(graph, *subject.frame));
        place_ = fit_picture(width, height, target_desc.width, target_desc.height);
        reduces = place_.width < width || place_.height < height;
    }
    if (texture && subject.probe)
        probe_->declare(graph, texture, *subject.probe);
    else
        probe_->forget();
    const vulkan::Pipeline* pipeline = reduces ? reduced_pipeline_.get() : pipeline_.get();
    return graph
        .add_pass<PictureData>(
            "picture", graph::Lane::Graphics,
            [&](graph::PassBuilder& pass, PictureData& data) {
                if (texture) data.texture = pass.read(texture, graph::Access::SampledRead);
                data.target = pass.write(target, graph::Access::ColorAttachment);
            },
            [pipeline, reduces, place = place_](const PictureData& data, vulkan::PassContext& context) {
                context.begin_rendering(context.image(data.target), vulkan::PassContext::Contents::Clear, kBackground);
                if (data.texture) draw(context.image(data.texture), *pipeline, reduces, place, context);
                context.end_rendering();
            })
        .target;
}

void PictureRenderer::submitted(const graph::Execution& execution) {
    const std::uint64_t value = execution.done[graph::Lane::Graphics.index()];
    if (lent_ != nullptr) lent_->drawn_until({graphics_.semaphore(), nullptr, value});
    lent_ = nullptr;
    probe_->submitted(value);
}

}  // namespace kinetograph::viewer
