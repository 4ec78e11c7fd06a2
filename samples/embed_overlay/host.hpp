// Host: what an engine has already: a window, a VkDevice, and an ImGui context that its own code draws.
#pragma once

#include <vulkan/vulkan_core.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

struct GLFWwindow;

/// Shaped after ImGui's own example for GLFW and Vulkan; knows nothing of Kinetograph.
class Host {
  public:
    /// `add_fonts` adds the application's fonts to ImGui's atlas; empty: ImGui's own.
    Host(int width, int height, const std::function<void()>& add_fonts = {});
    ~Host();
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    /// Empty if there are a display and a Vulkan device here, else why not.
    const std::string& problem() const { return problem_; }
    /// Begins a picture: ImGui may be called until end_picture(). False: the window was closed.
    bool begin_picture();
    void end_picture();

    /// Its Vulkan 1.3, with what frames in place need; nothing before problem() is known to be empty.
    struct Graphics {
        VkInstance instance = VK_NULL_HANDLE;
        VkPhysicalDevice physical = VK_NULL_HANDLE;
        VkDevice device = VK_NULL_HANDLE;
        VkQueue queue = VK_NULL_HANDLE;
        std::uint32_t family = 0;
        std::mutex queue_mutex;  ///< of all who submit
    };
    Graphics& graphics() { return graphics_; }
    /// What the process uses of a heap, and what it may use, in bytes.
    struct Heap {
        std::string name;
        std::uint64_t used = 0, budget = 0;
    };
    /// As the driver tells now; none if it does not.
    std::vector<Heap> heaps() const;

  private:
    struct Vulkan;
    void make_window(int width, int height);
    void make_device();
    void make_interface(const std::function<void()>& add_fonts);

    std::string problem_;
    Graphics graphics_;
    GLFWwindow* window_ = nullptr;
    std::unique_ptr<Vulkan> vulkan_;
};
