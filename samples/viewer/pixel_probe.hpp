// PixelProbe: the value of one pixel of the frame on show, read back some pictures later without waiting for it.
#pragma once

#include <kinetograph/engine/graph/frame_graph.hpp>
#include <kinetograph/engine/vulkan/buffer.hpp>
#include <kinetograph/engine/vulkan/lane.hpp>
#include <kinetograph/samples/viewer/picture_layout.hpp>

#include <memory>
#include <optional>

namespace kinetograph::viewer {

class PixelProbe {
  public:
    /// `graphics` runs the passes of the graphs that are declared here. Both outlive this. Errors: OutOfMemory.
    static Result<std::unique_ptr<PixelProbe>> create(const vulkan::Device& device, const vulkan::VulkanLane& graphics);

    /// Asks for the pixel at `position` of `texture`, which is RGBA of 8 bits: declares pass "pixel" on the graphics
    /// lane, before the pass that samples, unless an earlier request is still pending.
    void declare(graph::FrameGraph& graph, graph::Image texture, const PixelPosition& position);
    /// Call after what was declared last was submitted; it is done when the graphics lane reaches `value`.
    void submitted(std::uint64_t value);
    /// The newest answer; nothing before the first.
    std::optional<PixelValue> value();
    /// No pixel is asked for any more: drops the newest answer.
    void forget();

  private:
    struct Asked {
        PixelPosition position;
        std::uint64_t value = 0;  ///< at which the graphics lane has copied the pixel; 0: not submitted yet
    };
    explicit PixelProbe(const vulkan::VulkanLane& graphics) : graphics_(graphics) {}
    void look();

    const vulkan::VulkanLane& graphics_;
    std::unique_ptr<vulkan::Buffer> pixel_;
    std::optional<Asked> asked_;
    std::optional<PixelValue> answer_;
    bool wanted_ = false;  ///< a pixel was asked for since forget()
};

}  // namespace kinetograph::viewer
