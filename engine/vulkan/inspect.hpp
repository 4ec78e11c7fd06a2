// The available devices, and why each can or cannot be used.
#pragma once

#include <kinetograph/engine/vulkan/device_report.hpp>
#include <kinetograph/engine/vulkan/instance.hpp>

#include <optional>

namespace kinetograph::vulkan {

/// All physical devices, best first. With a `surface`, a device must be able to present to it.
/// Errors: NotFound when there is none.
Result<std::vector<DeviceReport>> inspect_devices(const Instance& instance, VkSurfaceKHR surface = VK_NULL_HANDLE);

/// The device features without which the Vulkan lanes do not work, as a chain to query or to enable.
class RequiredFeatures {
  public:
    RequiredFeatures();
    RequiredFeatures(const RequiredFeatures&) = delete;
    RequiredFeatures& operator=(const RequiredFeatures&) = delete;
    VkPhysicalDeviceFeatures2* chain() { return &features_; }
    void require_all();                        ///< sets every required feature, for vkCreateDevice
    std::vector<std::string> missing() const;  ///< names of required features that are not set

    /// Names of required features that a host application's vkCreateDevice chain does not enable.
    static std::vector<std::string> missing_in(const void* create_chain);

  private:
    VkPhysicalDeviceFeatures2 features_{};
    VkPhysicalDeviceVulkan12Features vulkan12_{};
    VkPhysicalDeviceVulkan13Features vulkan13_{};
};

/// The features of VK_KHR_present_wait and of VK_KHR_present_id, which it needs.
class PresentFeatures {
  public:
    /// For enabling both; `next` follows in the same chain.
    explicit PresentFeatures(void* next);
    /// For querying: the features as the device has them.
    PresentFeatures(const Instance& instance, VkPhysicalDevice device);
    PresentFeatures(const PresentFeatures&) = delete;
    PresentFeatures& operator=(const PresentFeatures&) = delete;
    void* chain() { return &id_; }
    bool all() const { return id_.presentId == VK_TRUE && wait_.presentWait == VK_TRUE; }

  private:
    VkPhysicalDevicePresentIdFeaturesKHR id_{};
    VkPhysicalDevicePresentWaitFeaturesKHR wait_{};
};

/// "discrete GPU"
std::string_view to_string(VkPhysicalDeviceType type);

/// Index of the family that serves graphics and compute, and can present to `surface` if there is one.
std::optional<std::uint32_t> graphics_family(const Instance& instance, VkPhysicalDevice device, VkSurfaceKHR surface);

std::vector<VkQueueFamilyProperties> queue_families(const Instance& instance, VkPhysicalDevice device);

}  // namespace kinetograph::vulkan
