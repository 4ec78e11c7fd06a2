// Host: what an engine has already: a window, a VkDevice, and an ImGui context that its own code draws.
#pragma once

#include <memory>
#include <string>

struct GLFWwindow;

/// Shaped after ImGui's own example for GLFW and Vulkan; knows nothing of Kinetograph.
class Host {
  public:
    Host(int width, int height);
    ~Host();
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    /// Empty if there are a display and a Vulkan device here, else why not.
    const std::string& problem() const { return problem_; }
    /// Begins a picture: ImGui may be called until end_picture(). False: the window was closed.
    bool begin_picture();
    void end_picture();

  private:
    struct Vulkan;
    void make_window(int width, int height);
    void make_device();
    void make_interface();

    std::string problem_;
    GLFWwindow* window_ = nullptr;
    std::unique_ptr<Vulkan> vulkan_;
};
