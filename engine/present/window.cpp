#include <kinetograph/engine/present/window.hpp>

#include <kinetograph/engine/vulkan/vk_result.hpp>

#define GLFW_INCLUDE_NONE
#include <GLFW/glfw3.h>

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cmath>

/// GLFW's connection to the X server (glfw3native.h); absent from a GLFW for Wayland alone.
extern "C" __attribute__((weak)) void* glfwGetX11Display();

namespace kinetograph::present {
namespace {

/// GLFW has global state: the last window to close terminates it.
int open_windows = 0;

/// GLFW's connection to the X server is broken, for the rest of the process: its functions may crash on what Xlib does
/// not answer or, as an input method's end, wait for it without end, so none is called again.
std::atomic<bool> display_is_lost = false;

/// Xlib ends the process when its connection breaks, unless a handler is set, and for this connection another one that
/// returns too (libX11 1.7; an older one ends the process all the same).
void outlive_display() {
    if (glfwGetX11Display == nullptr) return;
    void* const display = glfwGetX11Display();
    void* const xlib = display != nullptr ? dlopen("libX11.so.6", RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    if (xlib == nullptr) return;
    using OnError = int (*)(void* display);
    using OnExit = void (*)(void* display, void* data);
    auto* const set_on_error = reinterpret_cast<OnError (*)(OnError)>(dlsym(xlib, "XSetIOErrorHandler"));
    auto* const set_on_exit = reinterpret_cast<void (*)(void*, OnExit, void*)>(dlsym(xlib, "XSetIOErrorExitHandler"));
    if (set_on_error != nullptr && set_on_exit != nullptr) {
        set_on_error([](void*) { return 0; });
        set_on_exit(
            display, [](void*, void*) { display_is_lost = true; }, nullptr);
    }
    dlclose(xlib);
}

std::string last_error() {
    const char* description = nullptr;
    glfwGetError(&description);
    return description != nullptr ? description : "no reason given";
}

std::optional<Key> key_of(int key) {
    switch (key) {
        case GLFW_KEY_ESCAPE:
            return Key::Escape;
        case GLFW_KEY_ENTER:
        case GLFW_KEY_KP_ENTER:
            return Key::Enter;
        case GLFW_KEY_BACKSPACE:
            return Key::Backspace;
        case GLFW_KEY_HOME:
            return Key::Home;
        case GLFW_KEY_LEFT:
            return Key::Left;
        case GLFW_KEY_RIGHT:
            return Key::Right;
        default:
            return std::nullopt;
    }
}

/// Reduces a window, frame included, to the primary monitor's work area if it is larger, and keeps its shape.
void shrink_to_work_area(GLFWwindow* window) {
    GLFWmonitor* monitor = glfwGetPrimaryMonitor();
    if (monitor == nullptr) return;
    int x = 0, y = 0, most_width = 0, most_height = 0, width = 0, height = 0;
    glfwGetMonitorWorkarea(monitor, &x, &y, &most_width, &most_height);
    glfwGetWindowSize(window, &width, &height);
    int left = 0, top = 0, right = 0, bottom = 0;
    glfwGetWindowFrameSize(window, &left, &top, &right, &bottom);
    const double factor = std::min(static_cast<double>(most_width - left - right) / width,
                                   static_cast<double>(most_height - top - bottom) / height);
    if (factor >= 1.0 || factor <= 0.0) return;
    glfwSetWindowSize(window, static_cast<int>(width * factor), static_cast<int>(height * factor));
    glfwSetWindowPos(window, x + left, y + top);
}

}  // namespace

Result<std::unique_ptr<Window>> Window::create(const WindowOptions& options) {
    if (display_is_lost)
        return fail(ErrorCode::NotFound, "no display: the X server that this process had a window on has gone");
    if (glfwInit() != GLFW_TRUE)
        return fail(ErrorCode::NotFound, "no display: {} (use --headless to run without one)", last_error());
    std::unique_ptr<Window> window(new Window);
    if (++open_windows == 1) outlive_display();
    if (glfwVulkanSupported() != GLFW_TRUE)
        return fail(ErrorCode::Unsupported,
                    "this display cannot show Vulkan pictures: {} (use --headless to run without a window)",
                    last_error());
    glfwDefaultWindowHints();
    glfwWindowHint(GLFW_CLIENT_API, GLFW_NO_API);
    if (options.is_scaled) {
        glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
        glfwWindowHint(GLFW_VISIBLE, GLFW_FALSE);  // until it has its size
    }
    window->window_ = glfwCreateWindow(static_cast<int>(options.width), static_cast<int>(options.height),
                                       options.title.c_str(), nullptr, nullptr);
    if (window->window_ == nullptr)
        return fail(ErrorCode::Unsupported, "the display refused a window: {} (use --headless to run without one)",
                    last_error());
    if (options.is_scaled) {
        shrink_to_work_area(window->window_);
        glfwShowWindow(window->window_);
    }
    window->install_callbacks();
    window->read_refresh_rate();
    return window;
}

Window::~Window() {
    if (is_lost()) return;
    if (window_ != nullptr) glfwDestroyWindow(window_);
    if (--open_windows == 0) glfwTerminate();
}

void Window::install_callbacks() {
    glfwSetWindowUserPointer(window_, this);
    glfwSetKeyCallback(window_, [](GLFWwindow* handle, int key, int, int action, int) {
        auto& window = *static_cast<Window*>(glfwGetWindowUserPointer(handle));
        if (action == GLFW_RELEASE) return;
        window.last_key_repeats_ = action == GLFW_REPEAT;
        if (const auto special = key_of(key)) window.events_.push_back(KeyEvent{*special, 0, window.last_key_repeats_});
    });
    glfwSetCharCallback(window_, [](GLFWwindow* handle, unsigned int character) {
        auto& window = *static_cast<Window*>(glfwGetWindowUserPointer(handle));
        window.events_.push_back(KeyEvent{Key::Character, character, window.last_key_repeats_});
    });
    glfwSetScrollCallback(window_, [](GLFWwindow* handle, double x, double y) {
        static_cast<Window*>(glfwGetWindowUserPointer(handle))->events_.push_back(ScrollEvent{x, y});
    });
    glfwSetDropCallback(window_, [](GLFWwindow* handle, int count, const char** paths) {
        auto& window = *static_cast<Window*>(glfwGetWindowUserPointer(handle));
        DropEvent drop;
        for (int i = 0; i < count; ++i) drop.paths.emplace_back(paths[i]);
        window.events_.push_back(std::move(drop));
    });
    glfwSetWindowCloseCallback(window_, [](GLFWwindow* handle) {
        static_cast<Window*>(glfwGetWindowUserPointer(handle))->events_.push_back(CloseEvent{});
    });
}

std::vector<std::string> Window::instance_extensions() {
    std::uint32_t count = 0;
    const char** names = glfwGetRequiredInstanceExtensions(&count);
    return {names, names + count};
}

Result<VkSurfaceKHR> Window::create_surface(const vulkan::Instance& instance) const {
    VkSurfaceKHR surface = VK_NULL_HANDLE;
    if (const VkResult result = glfwCreateWindowSurface(instance.handle(), window_, nullptr, &surface);
        result != VK_SUCCESS)
        return vulkan::fail(result, "creating the window's surface");
    return surface;
}

std::vector<Event> Window::poll() {
    if (!is_lost()) glfwPollEvents();
    return std::exchange(events_, {});
}

std::vector<Event> Window::wait(Nanoseconds timeout) {
    const double seconds = std::chrono::duration<double>(timeout).count();
    if (events_.empty() && seconds > 0.0 && !is_lost()) glfwWaitEventsTimeout(seconds);
    return poll();
}

bool Window::is_lost() const { return display_is_lost; }

std::uint32_t Window::framebuffer_side(bool height) const {
    int sides[2] = {0, 0};
    if (!is_lost()) glfwGetFramebufferSize(window_, &sides[0], &sides[1]);
    if (!is_lost())  // nor while it was asked
        sides_ = {static_cast<std::uint32_t>(std::max(0, sides[0])), static_cast<std::uint32_t>(std::max(0, sides[1]))};
    return sides_[height ? 1 : 0];
}

std::uint32_t Window::width() const { return framebuffer_side(false); }
std::uint32_t Window::height() const { return framebuffer_side(true); }

float Window::content_scale() const {
    float x = 1.0F, y = 1.0F;  // GLFW knows them without the server
    glfwGetWindowContentScale(window_, &x, &y);
    return std::max(x, y);
}

int Window::color_bits() const {
    if (is_lost()) return 0;
    GLFWmonitor* monitor = glfwGetPrimaryMonitor();
    const GLFWvidmode* mode = monitor != nullptr ? glfwGetVideoMode(monitor) : nullptr;
    return mode != nullptr ? mode->redBits + mode->greenBits + mode->blueBits : 0;
}

void Window::read_refresh_rate() {
    GLFWmonitor* monitor = glfwGetWindowMonitor(window_);
    if (monitor == nullptr) monitor = glfwGetPrimaryMonitor();
    const GLFWvidmode* mode = monitor != nullptr ? glfwGetVideoMode(monitor) : nullptr;
    refresh_rate_ = mode != nullptr && mode->refreshRate > 0 ? mode->refreshRate : 60.0;
}

std::optional<CursorPosition> Window::cursor() const {
    if (is_lost() || glfwGetWindowAttrib(window_, GLFW_HOVERED) != GLFW_TRUE) return std::nullopt;
    CursorPosition position;
    glfwGetCursorPos(window_, &position.x, &position.y);
    int width = 1, height = 1;
    glfwGetWindowSize(window_, &width, &height);
    if (is_lost()) return std::nullopt;
    position.x *= static_cast<double>(this->width()) / std::max(1, width);
    position.y *= static_cast<double>(this->height()) / std::max(1, height);
    return position;
}

void Window::set_title(const std::string& title) {
    if (!is_lost()) glfwSetWindowTitle(window_, title.c_str());
}

void Window::set_full_screen(bool full_screen) {
    if (full_screen == full_screen_ || is_lost()) return;
    GLFWmonitor* monitor = glfwGetPrimaryMonitor();
    const GLFWvidmode* mode = monitor != nullptr ? glfwGetVideoMode(monitor) : nullptr;
    if (full_screen && mode == nullptr) return;
    full_screen_ = full_screen;
    if (full_screen) {
        glfwGetWindowPos(window_, &windowed_x_, &windowed_y_);
        glfwGetWindowSize(window_, &windowed_width_, &windowed_height_);
        glfwSetWindowMonitor(window_, monitor, 0, 0, mode->width, mode->height, mode->refreshRate);
    } else {
        glfwSetWindowMonitor(window_, nullptr, windowed_x_, windowed_y_, windowed_width_, windowed_height_,
                             GLFW_DONT_CARE);
    }
    read_refresh_rate();
}

}  // namespace kinetograph::present
