// Layer: an ImGui context of the library's own, with its fonts, input and renderer.
#pragma once

#include <kinetograph/engine/base/clock.hpp>
#include <kinetograph/engine/present/input.hpp>
#include <kinetograph/engine/ui/fonts.hpp>
#include <kinetograph/engine/ui/imgui_renderer.hpp>

struct GLFWwindow;
struct ImGuiContext;

namespace kinetograph::ui {

struct LayerOptions {
    graph::PixelFormat target = graph::PixelFormat::Rgba8Unorm;
    float scale = 1.0F;            ///< of fonts and distances: the display's content scale
    GLFWwindow* window = nullptr;  ///< source of mouse input; null: no input
};

/// The scale at which a target of that many pixels has room for the interface: `wanted`, or less in steps of a quarter,
/// so that the target is at least as large as one of 640x360 at scale 1. Never below 1, unless `wanted` is.
float fitting_scale(float wanted, std::uint32_t width, std::uint32_t height);

/// For applications without an ImGui context; others need only ImGuiRenderer and draw_profiler_overlay().
class Layer {
  public:
    static Result<std::unique_ptr<Layer>> create(const vulkan::Device& device, const LayerOptions& options);
    Layer(const Layer&) = delete;
    Layer& operator=(const Layer&) = delete;
    ~Layer();

    /// Passes keys and the wheel on to the next frame; the mouse's position and buttons are read from the window.
    void feed(const present::Event& event);
    /// Whether keys are being typed into a text box of the layer: the application then ignores them.
    bool takes_keys() const;

    /// Makes the context current and begins a frame of that many pixels. ImGui may be called until end_frame().
    void begin_frame(std::uint32_t width, std::uint32_t height, Nanoseconds since_last);
    /// Ends the frame and declares pass "overlay", which draws it over `target`; returns the new contents.
    graph::Image end_frame(graph::FrameGraph& frame, graph::Image target);

    const Fonts& fonts() const { return fonts_; }
    float scale() const { return scale_; }

  private:
    Layer() = default;
    ImGuiContext* context_ = nullptr;
    ImGuiContext* outer_ = nullptr;  // current before begin_frame()
    std::vector<int> pressed_;       // keys that are down for one frame
    bool has_window_ = false;
    float scale_ = 1.0F;
    Fonts fonts_;
    std::unique_ptr<ImGuiRenderer> renderer_;
};

}  // namespace kinetograph::ui
