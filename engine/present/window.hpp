// Window: a GLFW window with its input events and its Vulkan surface.
#pragma once

#include <kinetograph/engine/base/clock.hpp>
#include <kinetograph/engine/base/result.hpp>
#include <kinetograph/engine/present/input.hpp>
#include <kinetograph/engine/vulkan/instance.hpp>

#include <array>
#include <memory>
#include <optional>
#include <string>

struct GLFWwindow;

namespace kinetograph::present {

struct WindowOptions {
    std::string title = "Kinetograph";
    std::uint32_t width = 1280, height = 720;  ///< screen coordinates
    /// The size is that at scale 1: a display of double density gives a window of twice as many pixels. It has the same
    /// shape in the display's work area if it is larger than that.
    bool is_scaled = false;
};

/// Position in pixels of the framebuffer, from its upper left corner.
struct CursorPosition {
    double x = 0, y = 0;
};

/// Call everything from the thread that created it, which must be the program's main thread on some systems.
class Window {
  public:
    /// Errors: NotFound ("no display ...", also once an X server has gone with a window on it), Unsupported (the
    /// display cannot show Vulkan).
    static Result<std::unique_ptr<Window>> create(const WindowOptions& options = {});
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;
    ~Window();

    /// Instance extensions that a surface needs; for vulkan::InstanceOptions::extensions.
    static std::vector<std::string> instance_extensions();
    /// The surface is the caller's to destroy, before the instance and this window.
    Result<VkSurfaceKHR> create_surface(const vulkan::Instance& instance) const;

    /// Returns the events since the last call; never blocks.
    std::vector<Event> poll();
    /// The same, but sleeps for up to `timeout` until something happens.
    std::vector<Event> wait(Nanoseconds timeout);
    /// Whether a call has found the X server gone. Then there are no events, and sizes are those of before.
    bool is_lost() const;

    std::uint32_t width() const;  ///< of the framebuffer, in pixels; 0 while minimised
    std::uint32_t height() const;
    /// Bits of a pixel's red, green and blue on the display; 0: not known.
    int color_bits() const;
    float content_scale() const;  ///< 1 at 96 dots per inch, 2 on a display of double density
    /// Hertz, when the window was created or last entered or left full screen: of its display in full screen, else of
    /// the primary one; 60 if unknown.
    double refresh_rate() const { return refresh_rate_; }
    std::optional<CursorPosition> cursor() const;  ///< none while the pointer is elsewhere
    void set_title(const std::string& title);
    bool is_full_screen() const { return full_screen_; }
    void set_full_screen(bool full_screen);
    GLFWwindow* handle() const { return window_; }  ///< for ImGui's GLFW back end

  private:
    Window() = default;
    void install_callbacks();
    void read_refresh_rate();
    std::uint32_t framebuffer_side(bool height) const;
    GLFWwindow* window_ = nullptr;
    bool full_screen_ = false;
    double refresh_rate_ = 60.0;
    mutable std::array<std::uint32_t, 2> sides_{};  // of the framebuffer, when the display was last there
    int windowed_x_ = 0, windowed_y_ = 0, windowed_width_ = 0, windowed_height_ = 0;
    bool last_key_repeats_ = false;  // GLFW sends the key first, then its character
    std::vector<Event> events_;
};

}  // namespace kinetograph::present
