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

// Behind the picture: dark, but not so dark that the picture's own black is lost in it. sRGB-encoded.
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

void upload(const UploadData& data, std::span<const std::uint8_t> rgba, vulkan::PassContext& context) {
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
                                                                 graph::PixelFormat target) {
    std::unique_ptr<PictureRenderer> renderer(new PictureRenderer(device));
    vulkan::GraphicsPipelineDesc desc{.name = "picture",
                                      .vertex_shader = kVertexShader,
                                      .fragment_shader = kFragmentShader,
                                      .bindings = {vulkan::BindingKind::SampledImage},
                                      .color_format = target,
                                      .constants = {vulkan::encodes_srgb(target) ? 1U : 0U}};
    auto pipeline = vulkan::Pipeline::create(device, desc);
    if (!pipeline) return fail(pipeline.error());
    renderer->pipeline_ = std::move(*pipeline);
    desc.name = "picture, reduced";
    desc.fragment_shader = kReducedFragmentShader;
    desc.push_constant_bytes = sizeof(ReducedConstants);
    auto reduced = vulkan::Pipeline::create(device, desc);
    if (!reduced) return fail(reduced.error());
    renderer->reduced_pipeline_ = std::move(*reduced);
    return renderer;
}

/// One texture is enough: the graph keeps an upload behind the draw of the execution before.
Result<void> PictureRenderer::fit_texture(const vae::Frame& frame) {
    const graph::ImageDesc desc{.width = static_cast<std::uint32_t>(frame.width),
                                .height = static_cast<std::uint32_t>(frame.height),
                                .format = graph::PixelFormat::Rgba8Unorm};
    if (texture_ && texture_->desc().width == desc.width && texture_->desc().height == desc.height) return {};
    if (auto idle = device_.wait_idle(); !idle) return idle;
    uploaded_ = false;
    auto texture = vulkan::Image::create(device_, "frame", desc);
    if (!texture) return fail(texture.error());
    texture_ = std::move(*texture);
    return {};
}

graph::Image PictureRenderer::declare_upload(graph::FrameGraph& graph, graph::Image texture, const vae::Frame& frame) {
    uploaded_ = true;
    index_ = frame.index;
    decoded_at_ = frame.decoded_at;
    return graph
        .add_pass<UploadData>(
            "upload", graph::Lane::Transfer,
            [&](graph::PassBuilder& pass, UploadData& data) {
                data.texture = pass.write(texture, graph::Access::TransferWrite);
            },
            [rgba = std::span<const std::uint8_t>(frame.rgba)](const UploadData& data, vulkan::PassContext& context) {
                upload(data, rgba, context);
            })
        .texture;
}

Result<graph::Image> PictureRenderer::declare(graph::FrameGraph& graph, graph::Image target,
                                              const graph::ImageDesc& target_desc, const vae::Frame* frame) {
    graph::Image texture;
    if (frame != nullptr) {
        if (auto fitted = fit_texture(*frame); !fitted) return fail(fitted.error());
        texture = graph.import_image("frame", texture_->desc(), physical_of(*texture_));
        if (!uploaded_ || frame->index != index_ || frame->decoded_at != decoded_at_)
            texture = declare_upload(graph, texture, *frame);
        place_ = fit_picture(texture_->desc().width, texture_->desc().height, target_desc.width, target_desc.height);
    }
    const bool reduces = texture && (place_.width < texture_->desc().width || place_.height < texture_->desc().height);
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

}  // namespace kinetograph::viewer
