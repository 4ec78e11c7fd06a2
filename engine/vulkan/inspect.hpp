// The available devices, and why each can or cannot be used.
#pragma once

#include <kinetograph/engine/vulkan/device_report.hpp>
#include <kinetograph/engine/vulkan/instance.hpp>

#include <optional>

namespace kinetograph::vulkan {

/// Names of extensions that the headers of Vulkan 1.3.239 do not have.
inline constexpr const char* kCooperativeMatrix = "VK_KHR_cooperative_matrix";
inline constexpr const char* kShaderBfloat16 = "VK_KHR_shader_bfloat16";

/// All physical devices, best first. With a `surface`, a device must be able to present to it.
/// Errors: NotFound when there is none.
Result<std::vector<DeviceReport>> inspect_devices(const Instance& instance, VkSurfaceKHR surface = VK_NULL_HANDLE);

/// Features of VK_KHR_cooperative_matrix and VK_KHR_shader_bfloat16, as their specifications declare them; the headers
/// of Vulkan 1.3.239 do not.
struct CooperativeMatrixFeatures {
    VkStructureType sType = static_cast<VkStructureType>(1000506000);
    void* pNext = nullptr;
    VkBool32 cooperativeMatrix = VK_FALSE;
    VkBool32 cooperativeMatrixRobustBufferAccess = VK_FALSE;
};
struct ShaderBfloat16Features {
    VkStructureType sType = static_cast<VkStructureType>(1000141000);
    void* pNext = nullptr;
    VkBool32 shaderBFloat16Type = VK_FALSE;
    VkBool32 shaderBFloat16DotProduct = VK_FALSE;
    VkBool32 shaderBFloat16CooperativeMatrix = VK_FALSE;
};

/// The device features without which the Vulkan lanes do not work, and those of ComputeFeatures, as a chain to query or
/// to enable.
class RequiredFeatures {
  public:
    /// The chain has the structures of those `extensions` that the device has.
    explicit RequiredFeatures(const OptionalExtensions& extensions = {});
    RequiredFeatures(const RequiredFeatures&) = delete;
    RequiredFeatures& operator=(const RequiredFeatures&) = delete;
    VkPhysicalDeviceFeatures2* chain() { return &features_; }
    void require_all();                        ///< sets every required feature, for vkCreateDevice
    std::vector<std::string> missing() const;  ///< names of required features that are not set
    ComputeFeatures compute() const;           ///< that are set
    void enable(const ComputeFeatures& compute);
    /// Sets what a host application's vkCreateDevice chain enables.
    void read(const void* create_chain);

  private:
    VkPhysicalDeviceFeatures2 features_{};
    VkPhysicalDeviceVulkan11Features vulkan11_{};
    VkPhysicalDeviceVulkan12Features vulkan12_{};
    VkPhysicalDeviceVulkan13Features vulkan13_{};
    CooperativeMatrixFeatures matrices_;
    ShaderBfloat16Features bfloat16_;
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
