// OffscreenTarget: pictures in memory.
#pragma once

#include <kinetograph/engine/present/target.hpp>

#include <memory>

namespace kinetograph::present {

class OffscreenTarget final : public Target {
  public:
    /// Errors: InvalidArgument (the size), OutOfMemory.
    static Result<std::unique_ptr<OffscreenTarget>> create(const vulkan::Device& device, std::uint32_t width,
                                                           std::uint32_t height);
    const graph::ImageDesc& desc() const override { return image_->desc(); }
    Result<vulkan::Image*> acquire() override { return image_.get(); }
    void declare_handover(graph::FrameGraph& frame, graph::Image drawn) override { frame.export_contents(drawn); }
    Result<void> present(const graph::Execution&) override { return {}; }
    bool readable() const override { return true; }

  private:
    explicit OffscreenTarget(std::unique_ptr<vulkan::Image> image) : image_(std::move(image)) {}
    std::unique_ptr<vulkan::Image> image_;
};

}  // namespace kinetograph::present
