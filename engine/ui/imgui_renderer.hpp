// ImGuiRenderer: draws any ImGui context's lists as a pass of a frame graph.
#pragma once

#include <kinetograph/engine/graph/frame_graph.hpp>
#include <kinetograph/engine/vulkan/image.hpp>
#include <kinetograph/engine/vulkan/pipeline.hpp>

#include <memory>

struct ImDrawData;
struct ImFontAtlas;

namespace kinetograph::ui {

/// Ours instead of ImGui's own Vulkan back end: that one wants a render pass object and libvulkan at link time.
class ImGuiRenderer {
  public:
    /// Builds `atlas` if nobody has, uploads it, and puts its texture into it (ImFontAtlas::SetTexID).
    /// Pictures are drawn to images of format `target`. Errors: OutOfMemory, DeviceLost.
    static Result<std::unique_ptr<ImGuiRenderer>> create(const vulkan::Device& device, ImFontAtlas& atlas,
                                                         graph::PixelFormat target);

    /// Declares pass `name` on the graphics lane, which draws `data` over `target`, and returns the contents it makes.
    /// `data` (ImGui::GetDrawData() after ImGui::Render()) must stay as it is until the frame graph has been executed.
    graph::Image declare(graph::FrameGraph& frame, std::string_view name, graph::Image target, const ImDrawData& data);

  private:
    explicit ImGuiRenderer(const vulkan::Device& device) : device_(device) {}
    Result<void> upload_atlas(ImFontAtlas& atlas);

    const vulkan::Device& device_;
    std::unique_ptr<vulkan::Image> font_;
    std::unique_ptr<vulkan::Pipeline> pipeline_;
};

}  // namespace kinetograph::ui
