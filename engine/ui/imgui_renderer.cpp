#include <kinetograph/engine/ui/imgui_renderer.hpp>

#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/pass_context.hpp>

#include <imgui.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace kinetograph::ui {
namespace {

constexpr std::uint32_t kVertexShader[] = {
#include "imgui.vert.inc"
};
constexpr std::uint32_t kFragmentShader[] = {
#include "imgui.frag.inc"
};

struct Constants {
    float scale[2];
    float translate[2];
};

struct OverlayData {
    graph::Image target;
};

Constants constants_for(const ImDrawData& data) {
    Constants constants{};
    constants.scale[0] = 2.0F / data.DisplaySize.x;
    constants.scale[1] = 2.0F / data.DisplaySize.y;
    constants.translate[0] = -1.0F - data.DisplayPos.x * constants.scale[0];
    constants.translate[1] = -1.0F - data.DisplayPos.y * constants.scale[1];
    return constants;
}

/// The part of the target that a command may draw to; empty ones are skipped.
VkRect2D clip_of(const ImDrawCmd& command, const ImDrawData& data, const vulkan::Image& target) {
    const float width = static_cast<float>(target.desc().width), height = static_cast<float>(target.desc().height);
    const auto x = [&](float value) {
        return static_cast<std::int32_t>(
            std::clamp((value - data.DisplayPos.x) * data.FramebufferScale.x, 0.0F, width));
    };
    const auto y = [&](float value) {
        return static_cast<std::int32_t>(
            std::clamp((value - data.DisplayPos.y) * data.FramebufferScale.y, 0.0F, height));
    };
    const std::int32_t left = x(command.ClipRect.x), top = y(command.ClipRect.y);
    return {{left, top},
            {static_cast<std::uint32_t>(std::max(0, x(command.ClipRect.z) - left)),
             static_cast<std::uint32_t>(std::max(0, y(command.ClipRect.w) - top))}};
}

struct Geometry {
    vulkan::Upload vertices, indices;
};

/// Copies all lists one after another; none if memory ran out.
std::optional<Geometry> upload_geometry(const ImDrawData& data, vulkan::PassContext& context) {
    const auto vertices = context.upload(static_cast<std::size_t>(data.TotalVtxCount) * sizeof(ImDrawVert));
    const auto indices = context.upload(static_cast<std::size_t>(data.TotalIdxCount) * sizeof(ImDrawIdx));
    if (!vertices || !indices) return std::nullopt;
    std::byte* vertex = vertices->data;
    std::byte* index = indices->data;
    for (int i = 0; i < data.CmdListsCount; ++i) {
        const ImDrawList& list = *data.CmdLists[i];
        std::memcpy(vertex, list.VtxBuffer.Data, static_cast<std::size_t>(list.VtxBuffer.size_in_bytes()));
        std::memcpy(index, list.IdxBuffer.Data, static_cast<std::size_t>(list.IdxBuffer.size_in_bytes()));
        vertex += list.VtxBuffer.size_in_bytes();
        index += list.IdxBuffer.size_in_bytes();
    }
    return Geometry{*vertices, *indices};
}

void draw_lists(const ImDrawData& data, const vulkan::Image& target, vulkan::PassContext& context) {
    const VolkDeviceTable& table = context.table();
    std::uint32_t first_vertex = 0, first_index = 0;
    for (int i = 0; i < data.CmdListsCount; ++i) {
        const ImDrawList& list = *data.CmdLists[i];
        for (const ImDrawCmd& command : list.CmdBuffer) {
            const VkRect2D clip = clip_of(command, data, target);
            if (command.UserCallback != nullptr || clip.extent.width == 0 || clip.extent.height == 0) continue;
            table.vkCmdSetScissor(context.commands(), 0, 1, &clip);
            table.vkCmdDrawIndexed(context.commands(), command.ElemCount, 1, first_index + command.IdxOffset,
                                   static_cast<std::int32_t>(first_vertex + command.VtxOffset), 0);
        }
        first_vertex += static_cast<std::uint32_t>(list.VtxBuffer.Size);
        first_index += static_cast<std::uint32_t>(list.IdxBuffer.Size);
    }
}

}  // namespace

Result<std::unique_ptr<ImGuiRenderer>> ImGuiRenderer::create(const vulkan::Device& device, ImFontAtlas& atlas,
                                                             graph::PixelFormat target) {
    std::unique_ptr<ImGuiRenderer> renderer(new ImGuiRenderer(device));
    KG_CHECK(renderer->upload_atlas(atlas));
    KG_TRY(renderer->pipeline_,
           vulkan::Pipeline::create(
               device, vulkan::GraphicsPipelineDesc{
                           .name = "imgui",
                           .vertex_shader = kVertexShader,
                           .fragment_shader = kFragmentShader,
                           .bindings = {vulkan::BindingKind::SampledImage},
                           .push_constant_bytes = sizeof(Constants),
                           .vertex_attributes = {{0, 0, VK_FORMAT_R32G32_SFLOAT, offsetof(ImDrawVert, pos)},
                                                 {1, 0, VK_FORMAT_R32G32_SFLOAT, offsetof(ImDrawVert, uv)},
                                                 {2, 0, VK_FORMAT_R8G8B8A8_UNORM, offsetof(ImDrawVert, col)}},
                           .vertex_stride = sizeof(ImDrawVert),
                           .color_format = target,
                           .blend = vulkan::Blend::SourceOver,
                           .constants = {vulkan::encodes_srgb(target) ? 1U : 0U}}));
    return renderer;
}

Result<void> ImGuiRenderer::upload_atlas(ImFontAtlas& atlas) {
    unsigned char* pixels = nullptr;
    int width = 0, height = 0;
    atlas.GetTexDataAsRGBA32(&pixels, &width, &height);
    KG_TRY(font_, vulkan::Image::create(
                      device_, "imgui font",
                      {.width = static_cast<std::uint32_t>(width), .height = static_cast<std::uint32_t>(height)}));
    atlas.SetTexID(font_.get());
    auto uploaded = vulkan::upload_pixels(device_, *font_,
                                          {reinterpret_cast<const std::byte*>(pixels),
                                           static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 4});
    if (!uploaded) device_.keep(std::shared_ptr<vulkan::Image>(std::move(font_)));  // a late upload may write to it
    return uploaded;
}

graph::Image ImGuiRenderer::declare(graph::FrameGraph& frame, std::string_view name, graph::Image target,
                                    const ImDrawData& data) {
    const auto execute = [this, lists = &data](const OverlayData& pass, vulkan::PassContext& context) {
        if (lists->TotalIdxCount == 0) return;
        const auto geometry = upload_geometry(*lists, context);
        if (!geometry) return;
        const vulkan::Image& image = context.image(pass.target);
        const Constants constants = constants_for(*lists);
        const VkDeviceSize offset = geometry->vertices.offset;
        context.begin_rendering(image, vulkan::PassContext::Contents::Keep);
        context.bind(*pipeline_, {vulkan::Descriptor::sampled(*font_, device_.linear_sampler())});
        context.push_constants(*pipeline_, &constants, sizeof(constants));
        context.table().vkCmdBindVertexBuffers(context.commands(), 0, 1, &geometry->vertices.buffer, &offset);
        context.table().vkCmdBindIndexBuffer(context.commands(), geometry->indices.buffer, geometry->indices.offset,
                                             sizeof(ImDrawIdx) == 2 ? VK_INDEX_TYPE_UINT16 : VK_INDEX_TYPE_UINT32);
        draw_lists(*lists, image, context);
        context.end_rendering();
    };
    return frame
        .add_pass<OverlayData>(
            name, graph::Lane::Graphics,
            [&](graph::PassBuilder& pass, OverlayData& overlay) {
                overlay.target = pass.write(target, graph::Access::ColorAttachment);
            },
            execute)
        .target;
}

}  // namespace kinetograph::ui
