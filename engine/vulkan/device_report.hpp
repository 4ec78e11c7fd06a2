// DeviceReport: what a Vulkan device is and can do.
#pragma once

#include <kinetograph/engine/vulkan/handles.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kinetograph::vulkan {

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
    VkPhysicalDevice handle = nullptr;
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

}  // namespace kinetograph::vulkan
