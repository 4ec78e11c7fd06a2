// PictureRenderer: decoded frames drawn scaled to a target: images of the device as they are, others after an upload.
#pragma once

#include <kinetograph/engine/graph/frame_graph.hpp>
#include <kinetograph/engine/vulkan/image.hpp>
#include <kinetograph/engine/vulkan/pipeline.hpp>
#include <kinetograph/samples/viewer/frame.hpp>
#include <kinetograph/samples/viewer/pixel_probe.hpp>

#include <memory>

namespace kinetograph::viewer {

class PictureRenderer {
  public:
    /// Pictures are drawn on `graphics`, which outlives this, to images of format `target`.
    static Result<std::unique_ptr<PictureRenderer>> create(const vulkan::Device& device, vulkan::VulkanLane& graphics,
                                                           graph::PixelFormat target);

    /// What to draw; `frame` is null before the first.
    struct Subject {
        const Frame* frame = nullptr;
        std::optional<PixelPosition> probe;  ///< the pixel of the frame whose value is asked for
    };
    /// Declares pass "picture" on the graphics lane, which clears `target` and draws the frame over it; without a frame
    /// it only clears. Before it comes pass "upload" on the transfer lane if the frame is in the host's memory and not
    /// the one that was declared last; if the frame already is an image, the device waits for it. Returns the
    /// version of `target` that it makes. The frame must not change until the graph has been executed, and that must
    /// succeed: the upload counts as done. Waits for an idle device if the texture's size changes. Errors: OutOfMemory.
    Result<graph::Image> declare(graph::FrameGraph& graph, graph::Image target, const graph::ImageDesc& target_desc,
                                 const Subject& subject);
    /// Call after what was declared last was submitted as `execution`.
    void submitted(const graph::Execution& execution);

    /// Where the picture was drawn last.
    const Rectangle& place() const { return place_; }
    /// The value of the pixel asked for, some pictures old; nothing while none is asked for.
    std::optional<PixelValue> pixel() { return probe_->value(); }

  private:
    PictureRenderer(const vulkan::Device& device, vulkan::VulkanLane& graphics)
        : device_(device), graphics_(graphics) {}
    Result<graph::Image> declare_texture(graph::FrameGraph& graph, const Frame& frame);
    graph::Image borrow(graph::FrameGraph& graph, LentFrame& frame);
    Result<graph::Image> upload(graph::FrameGraph& graph, const Frame& frame);
    Result<void> fit_texture(const Frame& frame);

    const vulkan::Device& device_;
    vulkan::VulkanLane& graphics_;
    std::unique_ptr<vulkan::Pipeline> pipeline_;  // at its own size or enlarged
    std::unique_ptr<vulkan::Pipeline> reduced_pipeline_;
    std::unique_ptr<PixelProbe> probe_;
    LentFrame* lent_ = nullptr;  // shown by the picture being declared
    Rectangle place_;
    std::unique_ptr<vulkan::Image> texture_;  // of frames that are uploaded
    bool uploaded_ = false;                   // texture_ holds the frame below
    std::int64_t index_ = 0;
    Nanoseconds decoded_at_{};
};

}  // namespace kinetograph::viewer
