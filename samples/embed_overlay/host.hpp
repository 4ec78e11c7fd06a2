// Host: what an engine already has: a window, a VkDevice, and an ImGui context that its own code draws.
#pragma once

#include <vulkan/vulkan_core.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

struct GLFWwindow;

/// Modelled on ImGui's own example for GLFW and Vulkan; knows nothing of Kinetograph.
class Host {
  public:
    /// `add_fonts` adds the application's fonts to ImGui's atlas; empty: ImGui's default font.
    Host(int width, int height, const std::function<void()>& add_fonts = {});
    ~Host();
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    /// Empty if the host is usable; otherwise what is missing, such as a display or a Vulkan device.
    const std::string& problem() const { return problem_; }
    /// Begins a picture: ImGui may be called until end_picture(). False: the window was closed.
    bool begin_picture();
    void end_picture();

    /// Its Vulkan 1.3 objects, with the features that decoded frames need; valid only if problem() is empty.
    struct Graphics {
        VkInstance instance = VK_NULL_HANDLE;
        VkPhysicalDevice physical = VK_NULL_HANDLE;
        VkDevice device = VK_NULL_HANDLE;
        VkQueue queue = VK_NULL_HANDLE;
        std::uint32_t family = 0;
        std::mutex queue_mutex;  ///< held while submitting and presenting
    };
    Graphics& graphics() { return graphics_; }
    /// What the process uses of a heap, and what it may use, in bytes.
    struct Heap {
        std::string name;
        std::uint64_t used = 0, budget = 0;
    };
    /// The driver's current figures; empty without VK_EXT_memory_budget.
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
