// Stage: everything that pictures are made with: Vulkan device, lanes, executor, target and interface.
#pragma once

#include <kinetograph/engine/present/readback.hpp>
#include <kinetograph/engine/present/target.hpp>
#include <kinetograph/engine/present/window.hpp>
#include <kinetograph/engine/ui/layer.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/graph_memory.hpp>
#include <kinetograph/engine/vulkan/lane.hpp>
#include <kinetograph/samples/viewer/options.hpp>
#include <kinetograph/samples/viewer/picture_renderer.hpp>

#include <functional>
#include <memory>

namespace kinetograph::viewer {

/// Pictures go to a window or stay in memory; only the creation differs.
class Stage {
  public:
    /// `options` and `recorder` outlive the result. Errors: no Vulkan, no display, no memory; each names what is
    /// missing.
    static Result<std::unique_ptr<Stage>> create(const ViewerOptions& options, profile::Recorder& recorder);
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;
    ~Stage();

    struct Picture {
        PictureRenderer::Subject subject;
        std::function<void()> interface;  ///< draws with ImGui
        Nanoseconds since_last{};
        bool read_back = false;  ///< the result's picture is wanted
    };
    struct Shown {
        bool shown = false;           ///< false: the target takes no pictures now (minimised)
        profile::StepKey drawn_by{};  ///< the execution that drew it
        std::optional<present::Picture> picture;
    };
    /// Makes one picture and hands it to the target. Waits for the device only if the picture is read back. Errors:
    /// DeviceLost, after which the stage shows nothing until replace_device().
    Result<Shown> show(const Picture& picture);

    /// Replaces a lost device by a new one, in the same window. Call it once nothing outside the stage uses the old
    /// one. Errors: those of create().
    Result<void> replace_device();

    /// Whether the display of the window has gone; looks for that now.
    bool find_display_lost();
    /// Leaves the window: pictures stay in memory, of the window's size. Errors: those of create().
    Result<void> leave_window();

    present::Window* window() { return window_.get(); }  ///< null: in memory
    const vulkan::Device& device() const { return *device_; }
    const graph::ImageDesc& target() const { return target_->desc(); }
    const Rectangle& picture_place() const { return pictures_->place(); }
    std::optional<PixelValue> pixel() { return pictures_->pixel(); }  ///< the newest answer to Subject::probe
    const ui::Fonts& fonts() const { return layer_->fonts(); }
    float scale() const { return layer_->scale(); }
    ui::Layer& interface() { return *layer_; }
    bool readable() const { return target_->readable(); }
    std::string_view screen_source() const { return target_->screen_source(); }
    std::vector<present::Target::OnScreen> take_on_screen() { return target_->take_on_screen(); }
    double refresh_rate() const { return window_ ? window_->refresh_rate() : 60.0; }  ///< hertz
    const vulkan::ValidationLog& validation() const { return *instance_->validation(); }

  private:
    Stage(const ViewerOptions& options, profile::Recorder& recorder) : options_(options), recorder_(recorder) {}
    Result<void> open_window();
    Result<void> open_device();
    void close_device();
    Result<void> make_lanes();
    Result<void> make_target(std::uint32_t width, std::uint32_t height);
    Result<void> make_pictures();
    Result<void> make_interface();
    float wanted_scale() const;
    void record_span(const char* name, Nanoseconds begin, std::uint64_t execution);

    // In the order of creation; destroyed in reverse.
    const ViewerOptions& options_;
    profile::Recorder& recorder_;
    std::unique_ptr<present::Window> window_;
    std::unique_ptr<vulkan::Instance> instance_;
    VkSurfaceKHR surface_ = VK_NULL_HANDLE;
    std::unique_ptr<vulkan::Device> device_;
    std::unique_ptr<vulkan::VulkanMemory> memory_;
    std::unique_ptr<vulkan::VulkanLane> graphics_, transfer_;
    std::unique_ptr<graph::Executor> executor_;
    std::unique_ptr<present::Target> target_;
    std::unique_ptr<present::Readback> readback_;
    std::unique_ptr<ui::Layer> layer_;
    std::unique_ptr<PictureRenderer> pictures_;
    std::optional<graph::FrameGraph> frame_;
};

}  // namespace kinetograph::viewer
