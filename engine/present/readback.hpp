// Readback: copies an 8-bit image of a frame graph into host memory.
#pragma once

#include <kinetograph/engine/graph/frame_graph.hpp>
#include <kinetograph/engine/present/png.hpp>
#include <kinetograph/engine/vulkan/buffer.hpp>

#include <memory>

namespace kinetograph::present {

/// Holds one picture at a time: declare() in a frame, execute it, wait for the graphics lane, then picture().
class Readback {
  public:
    explicit Readback(const vulkan::Device& device) : device_(device) {}

    /// Declares pass "readback" on the graphics lane, which copies `image` of format and size `desc`.
    /// Errors: Unsupported (not an 8-bit format), OutOfMemory.
    Result<void> declare(graph::FrameGraph& frame, graph::Image image, const graph::ImageDesc& desc);

    /// The pixels of the last executed copy, as RGBA with alpha 255. The graphics lane must have completed it.
    Picture picture() const;

  private:
    const vulkan::Device& device_;
    std::unique_ptr<vulkan::Buffer> buffer_;
    graph::ImageDesc desc_;
};

}  // namespace kinetograph::present
