// Target: the destination of finished pictures, a window or memory.
#pragma once

#include <kinetograph/engine/base/clock.hpp>
#include <kinetograph/engine/graph/executor.hpp>
#include <kinetograph/engine/vulkan/image.hpp>

#include <string_view>
#include <vector>

namespace kinetograph::present {

/// A frame:  acquire() -> declare passes that draw -> declare_handover() -> Executor::execute() -> present().
class Target {
  public:
    virtual ~Target() = default;

    /// Size and format of the image that acquire() last returned.
    virtual const graph::ImageDesc& desc() const = 0;

    /// The image for the next picture, contents undefined; null while there is none to draw to (a minimised window, a
    /// compositor that keeps all images): try again later. Valid until present(); the same one again if the execution
    /// that should have drawn to it failed. Errors: DeviceLost, OutOfMemory, Io (the surface is gone).
    virtual Result<vulkan::Image*> acquire() = 0;

    /// Declares the pass that delivers `drawn`; call once per frame, after every pass that uses it.
    virtual void declare_handover(graph::FrameGraph& frame, graph::Image drawn) = 0;

    /// Presents the picture once `execution` has drawn it; returns before that.
    virtual Result<void> present(const graph::Execution& execution) = 0;

    /// True if copies out of its images are possible.
    virtual bool readable() const = 0;

    struct OnScreen {
        std::uint64_t execution = 0;  ///< number of the one that drew the picture
        Nanoseconds time{};           ///< host axis
    };
    /// The extension that reports when pictures are on the screen; empty if none does.
    virtual std::string_view screen_source() const { return {}; }
    /// Pictures that are known to have come onto the screen since the last call, oldest first.
    virtual std::vector<OnScreen> take_on_screen() { return {}; }
};

}  // namespace kinetograph::present
