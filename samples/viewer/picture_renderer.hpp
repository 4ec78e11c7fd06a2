// PictureRenderer: decoded frames as a Vulkan image, uploaded when they change and drawn scaled to a target.
#pragma once

#include <kinetograph/compute/vae/decode_queue.hpp>
#include <kinetograph/engine/graph/frame_graph.hpp>
#include <kinetograph/engine/vulkan/image.hpp>
#include <kinetograph/engine/vulkan/pipeline.hpp>
#include <kinetograph/samples/viewer/picture_layout.hpp>

#include <memory>

namespace kinetograph::viewer {

class PictureRenderer {
  public:
    /// Pictures are drawn to images of format `target`.
    static Result<std::unique_ptr<PictureRenderer>> create(const vulkan::Device& device, graph::PixelFormat target);

    /// Declares pass "upload" on the transfer lane if `frame` is not the one that was declared last, and pass "picture"
    /// on the graphics lane, which clears `target` and draws the frame over it; without a frame it only clears. Returns
    /// the contents it makes. `frame` must stay as it is until the frame graph has been executed, and that must
    /// succeed. Errors: OutOfMemory. The device is idle before the texture changes its size.
    Result<graph::Image> declare(graph::FrameGraph& graph, graph::Image target, const graph::ImageDesc& target_desc,
                                 const vae::Frame* frame);

    /// Where the picture was drawn last.
    const Rectangle& place() const { return place_; }

  private:
    explicit PictureRenderer(const vulkan::Device& device) : device_(device) {}
    Result<void> fit_texture(const vae::Frame& frame);
    graph::Image declare_upload(graph::FrameGraph& graph, graph::Image texture, const vae::Frame& frame);

    const vulkan::Device& device_;
    std::unique_ptr<vulkan::Pipeline> pipeline_;  // at its own size or enlarged
    std::unique_ptr<vulkan::Pipeline> reduced_pipeline_;
    std::unique_ptr<vulkan::Image> texture_;
    Rectangle place_;
    bool uploaded_ = false;  // the texture holds the frame below
    std::int64_t index_ = 0;
    Nanoseconds decoded_at_{};
};

}  // namespace kinetograph::viewer
