// ImGuiRenderer: draws any ImGui context's lists as a pass of a frame graph.
#pragma once

#include <kinetograph/engine/graph/frame_graph.hpp>
#include <kinetograph/engine/vulkan/image.hpp>
#include <kinetograph/engine/vulkan/pipeline.hpp>

#include <memory>

struct ImDrawData;
struct ImFontAtlas;

namespace kinetograph::ui {

/// Replaces ImGui's own Vulkan back end, which needs a render pass object and libvulkan at link time.
class ImGuiRenderer {
  public:
    /// Builds `atlas` if necessary, uploads it, and registers its texture (ImFontAtlas::SetTexID). Draws to images of
    /// format `target`. Errors: OutOfMemory, DeviceLost.
    static Result<std::unique_ptr<ImGuiRenderer>> create(const vulkan::Device& device, ImFontAtlas& atlas,
                                                         graph::PixelFormat target);

    /// Declares pass `name` on the graphics lane, which draws `data` over `target`, and returns the new contents.
    /// `data` (ImGui::GetDrawData() after ImGui::Render()) must not change until the frame graph has been executed.
    graph::Image declare(graph::FrameGraph& frame, std::string_view name, graph::Image target, const ImDrawData& data);

  private:
    explicit ImGuiRenderer(const vulkan::Device& device) : device_(device) {}
    Result<void> upload_atlas(ImFontAtlas& atlas);

    const vulkan::Device& device_;
    std::unique_ptr<vulkan::Image> font_;
    std::unique_ptr<vulkan::Pipeline> pipeline_;
};

}  // namespace kinetograph::ui
