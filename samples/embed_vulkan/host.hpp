// Host: what an engine already has: a VkInstance, a VkDevice, a queue with its lock, and work that it submits.
#pragma once

#include <vulkan/vulkan.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <vector>

/// Uses libvulkan directly; knows nothing of Kinetograph.
class Host {
  public:
    Host();
    ~Host();
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    /// Submits the engine's work on a picture: waits for `ready` to reach `value`, copies the pixel in the middle of
    /// `image` (in `layout`) to where the host can read it, and signals `done` with the value that this returns.
    std::uint64_t submit(VkImage image, VkImageLayout layout, VkExtent2D size, VkSemaphore ready, std::uint64_t value);
    /// Waits until the work that signals `value` is done, and prints the pixel that it copied. An engine need not wait.
    void print(std::uint64_t value, std::int64_t index, std::chrono::nanoseconds due);

    /// Enabled where the device has them: the first two share memory and semaphores with an accelerator on the same
    /// GPU, the third shares host memory with an accelerator elsewhere.
    static constexpr std::array<const char*, 3> kSharing{VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME,
                                                         VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME,
                                                         VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME};
    /// What vkCreateDevice was given: the features that Vulkan's lanes need, and those that kernels need which compute
    /// in this device (docs/vulkan-lane.md; cooperative matrices, which newer headers have, make these faster).
    const void* create_chain() const { return &features_; }
    std::vector<const char*> extensions;  ///< those that are enabled
    bool usable = false;                  ///< a Vulkan 1.3 device was found
    VkInstance instance = VK_NULL_HANDLE;
    VkPhysicalDevice physical = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    VkQueue queue = VK_NULL_HANDLE;
    std::uint32_t family = 0;
    std::mutex queue_mutex;  ///< held during every use of `queue`
    VkSemaphore done = VK_NULL_HANDLE;

  private:
    void enable_features();
    void make_device();
    void make_readback();
    VkPhysicalDeviceFeatures2 features_{};
    VkPhysicalDeviceVulkan11Features features11_{};
    VkPhysicalDeviceVulkan12Features features12_{};
    VkPhysicalDeviceVulkan13Features features13_{};
    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkCommandBuffer commands_ = VK_NULL_HANDLE;
    VkBuffer pixel_ = VK_NULL_HANDLE;
    VkDeviceMemory memory_ = VK_NULL_HANDLE;
    void* mapped_ = nullptr;
    std::uint64_t submitted_ = 0;
};
