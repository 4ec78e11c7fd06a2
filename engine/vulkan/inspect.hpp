// The available devices, and why each can or cannot be used.
#pragma once

#include <kinetograph/engine/vulkan/instance.hpp>

#include <array>
#include <optional>

namespace kinetograph::vulkan {

/// Names of extensions that the headers of Vulkan 1.3.239 do not have.
inline constexpr const char* kCooperativeMatrix = "VK_KHR_cooperative_matrix";
inline constexpr const char* kShaderBfloat16 = "VK_KHR_shader_bfloat16";

/// Extensions that add capabilities; none is required.
struct OptionalExtensions {
    bool swapchain = false;              ///< windows
    bool external_memory_fd = false;     ///< exportable memory
    bool external_semaphore_fd = false;  ///< timelines shared with an accelerator
    bool external_memory_host = false;   ///< an accelerator's pinned memory as a buffer
    bool calibrated_timestamps = false;  ///< device and host clock read together
    bool memory_budget = false;          ///< free bytes in out-of-memory messages
    bool present_wait = false;           ///< when pictures of a window are on the screen
    bool cooperative_matrix = false;     ///< products of matrices by a subgroup (VK_KHR_cooperative_matrix)
    bool shader_bfloat16 = false;        ///< VK_KHR_shader_bfloat16
};

/// Features for kernels that are given addresses of memory, as accel/vulkan has them; none is required. A device of the
/// library's own has all enabled that it reports.
struct ComputeFeatures {
    bool addresses = false;          ///< bufferDeviceAddress
    bool subgroup_sizes = false;     ///< subgroupSizeControl, computeFullSubgroups
    bool memory_model = false;       ///< vulkanMemoryModel, vulkanMemoryModelDeviceScope
    bool scalar_layout = false;      ///< scalarBlockLayout
    bool int16 = false;              ///< shaderInt16
    bool int64 = false;              ///< shaderInt64
    bool storage16 = false;          ///< storageBuffer16BitAccess
    bool float16 = false;            ///< shaderFloat16
    bool storage8 = false;           ///< storageBuffer8BitAccess
    bool int8 = false;               ///< shaderInt8
    bool dot_products = false;       ///< shaderIntegerDotProduct
    bool matrices = false;           ///< cooperativeMatrix
    bool bfloat16 = false;           ///< shaderBFloat16Type
    bool bfloat16_matrices = false;  ///< shaderBFloat16CooperativeMatrix
};

/// A GPU's place by VK_EXT_pci_bus_info, which identifies it to other APIs even if their UUIDs differ.
struct PciPlace {
    std::uint32_t domain = 0, bus = 0, device = 0;
};

struct DeviceReport {
    VkPhysicalDevice handle = VK_NULL_HANDLE;
    std::string name;                       ///< "llvmpipe (LLVM 15.0.6, 256 bits)"
    std::string driver;                     ///< "llvmpipe Mesa 22.3.6"
    std::string type;                       ///< "discrete GPU", "CPU", ...
    std::array<std::uint8_t, 16> uuid{};    ///< VkPhysicalDeviceIDProperties::deviceUUID
    std::optional<PciPlace> pci;            ///< if the driver reports it
    std::uint32_t api_version = 0;          ///< encoded as by VK_MAKE_API_VERSION
    std::uint64_t device_memory_bytes = 0;  ///< of device-local heaps
    OptionalExtensions extensions;
    ComputeFeatures
        compute;  ///< that it has; of an adopted device, those that its application is known to have enabled
    std::vector<std::string>
        missing;  ///< optional features that this device lacks, and what is unavailable without them
    std::vector<std::string> declined;  ///< why it cannot be used; empty if it can
    bool usable() const { return declined.empty(); }
};

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
