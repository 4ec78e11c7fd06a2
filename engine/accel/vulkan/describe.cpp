#include <kinetograph/engine/accel/vulkan/describe.hpp>

#include <fmt/ranges.h>

#include <algorithm>

namespace kinetograph::accel::vulkan {
namespace {

namespace vk = ::kinetograph::vulkan;

// VK_KHR_cooperative_matrix, which the headers of Vulkan 1.3.239 do not have.
enum class ComponentType : std::int32_t {
    Float16 = 0,
    Float32 = 1,
    Sint8 = 3,
    Sint32 = 5,
    Uint8 = 7,
    Bfloat16 = 1000141000
};
struct MatrixProperties {
    VkStructureType sType = static_cast<VkStructureType>(1000506001);
    void* pNext = nullptr;
    std::uint32_t m = 0, n = 0, k = 0;
    ComponentType a{}, b{}, c{}, result{};
    VkBool32 saturates = VK_FALSE;
    std::int32_t scope = 0;
};
constexpr std::int32_t kSubgroupScope = 3;
using GetMatrixProperties = VkResult(VKAPI_PTR*)(VkPhysicalDevice, std::uint32_t*, MatrixProperties*);

std::vector<MatrixProperties> matrix_properties(const vk::Instance& instance, VkPhysicalDevice device) {
    const auto query = reinterpret_cast<GetMatrixProperties>(instance.loader().get_instance_proc_addr()(
        instance.handle(), "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
    std::uint32_t count = 0;
    if (query == nullptr || query(device, &count, nullptr) != VK_SUCCESS) return {};
    std::vector<MatrixProperties> all(count);
    if (query(device, &count, all.data()) != VK_SUCCESS) return {};
    return all;
}

/// Whether a subgroup multiplies A of 16 x k by B of k x 16.
bool multiplies(const std::vector<MatrixProperties>& all, ComponentType a, ComponentType b, ComponentType sums,
                std::uint32_t k) {
    return std::ranges::any_of(all, [&](const MatrixProperties& one) {
        return one.m == 16 && one.n == 16 && one.k == k && one.a == a && one.b == b && one.c == sums &&
               one.result == sums && one.scope == kSubgroupScope;
    });
}

bool has_extension(const vk::Instance& instance, VkPhysicalDevice device, std::string_view name) {
    std::uint32_t count = 0;
    instance.table().vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
    std::vector<VkExtensionProperties> all(count);
    instance.table().vkEnumerateDeviceExtensionProperties(device, nullptr, &count, all.data());
    return std::ranges::any_of(all, [&](const auto& extension) { return name == extension.extensionName; });
}

/// Asks for one structure of properties.
template <class Properties>
Properties properties_of(const vk::Instance& instance, VkPhysicalDevice device, VkStructureType type) {
    Properties wanted{};
    wanted.sType = type;
    VkPhysicalDeviceProperties2 all{};
    all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    all.pNext = &wanted;
    instance.table().vkGetPhysicalDeviceProperties2(device, &all);
    return wanted;
}

VkPhysicalDeviceProperties core_properties(const vk::Instance& instance, VkPhysicalDevice device) {
    VkPhysicalDeviceProperties2 all{};
    all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    instance.table().vkGetPhysicalDeviceProperties2(device, &all);
    return all.properties;
}

/// 0: the driver does not say.
std::uint32_t compute_units(const vk::Instance& instance, VkPhysicalDevice device) {
    if (has_extension(instance, device, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME))
        return properties_of<VkPhysicalDeviceShaderSMBuiltinsPropertiesNV>(
                   instance, device, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV)
            .shaderSMCount;
    if (has_extension(instance, device, VK_AMD_SHADER_CORE_PROPERTIES_2_EXTENSION_NAME))
        return properties_of<VkPhysicalDeviceShaderCoreProperties2AMD>(
                   instance, device, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD)
            .activeComputeUnitCount;
    return 0;
}

bool has_time_stamps(const vk::Instance& instance, VkPhysicalDevice device) {
    return std::ranges::all_of(vk::queue_families(instance, device), [](const VkQueueFamilyProperties& family) {
        return (family.queueFlags & VK_QUEUE_COMPUTE_BIT) == 0 || family.timestampValidBits > 0;
    });
}

std::vector<std::string> feature_words(const vk::Instance& instance, const vk::DeviceReport& report) {
    const vk::ComputeFeatures& has = report.compute;
    std::vector<std::string> words{fmt::format("subgroup-{}", compute_limits(instance, report.handle).subgroup)};
    if (has.float16 && has.storage16) words.emplace_back("float16");
    if (has.int8 && has.storage8) words.emplace_back("int8");
    if (!has.matrices || !has.memory_model) return words;
    const auto all = matrix_properties(instance, report.handle);
    using enum ComponentType;
    if (has.float16 && has.storage16 && multiplies(all, Float16, Float16, Float32, 16))
        words.emplace_back("matrix-f16");
    if (has.bfloat16_matrices && has.storage16 && multiplies(all, Bfloat16, Bfloat16, Float32, 16))
        words.emplace_back("matrix-bf16");
    if (has.int8 && has.storage8 && multiplies(all, Uint8, Sint8, Sint32, 32)) words.emplace_back("matrix-u8s8");
    if (has.int8 && has.storage8 && multiplies(all, Sint8, Sint8, Sint32, 32)) words.emplace_back("matrix-s8s8");
    return words;
}

Capability where(bool available, std::string reason) {
    return {available, available ? std::string() : std::move(reason)};
}

}  // namespace

ComputeLimits compute_limits(const vk::Instance& instance, VkPhysicalDevice device) {
    const auto limits = core_properties(instance, device).limits;
    const auto v11 = properties_of<VkPhysicalDeviceVulkan11Properties>(
        instance, device, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES);
    const auto v13 = properties_of<VkPhysicalDeviceVulkan13Properties>(
        instance, device, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES);
    return {.subgroup = v11.subgroupSize,
            .sets_subgroup = (v13.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0 &&
                             v11.subgroupSize >= v13.minSubgroupSize && v11.subgroupSize <= v13.maxSubgroupSize,
            .subgroups = v13.maxComputeWorkgroupSubgroups,
            .threads = limits.maxComputeWorkGroupInvocations,
            .threads_x = limits.maxComputeWorkGroupSize[0],
            .workgroups = {limits.maxComputeWorkGroupCount[0], limits.maxComputeWorkGroupCount[1],
                           limits.maxComputeWorkGroupCount[2]},
            .allocation_bytes = std::min<std::uint64_t>(v11.maxMemoryAllocationSize, v13.maxBufferSize)};
}

std::vector<std::string> missing_features(const vk::DeviceReport& report) {
    std::vector<std::string> missing = report.declined;
    const auto require = [&](bool has, const char* name) {
        if (!has) missing.push_back(fmt::format("feature {} is missing, or not known to be enabled", name));
    };
    require(report.compute.addresses, "bufferDeviceAddress");
    require(report.compute.subgroup_sizes, "subgroupSizeControl or computeFullSubgroups");
    return missing;
}

DeviceInfo describe(const vk::Instance& instance, const vk::DeviceReport& report) {
    const VkPhysicalDeviceProperties core = core_properties(instance, report.handle);
    DeviceInfo info;
    info.kind = kKind;
    info.name = report.name;
    info.driver = fmt::format("{}, Vulkan {}.{}.{}", report.driver, VK_API_VERSION_MAJOR(report.api_version),
                              VK_API_VERSION_MINOR(report.api_version), VK_API_VERSION_PATCH(report.api_version));
    info.features = fmt::format("{}", fmt::join(feature_words(instance, report), " "));
    info.architecture = kArchitecture;
    info.uuid = report.uuid;
    if (report.pci) info.pci = PciAddress{report.pci->domain, report.pci->bus, report.pci->device};
    info.memory_bytes = report.device_memory_bytes;
    info.compute_units = compute_units(instance, report.handle);
    info.shared_bytes_per_block = core.limits.maxComputeSharedMemorySize;
    info.emulated = core.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    info.can_load = info.can_capture = where(true, {});
    info.can_time_graphs =
        where(has_time_stamps(instance, report.handle), "its compute queues have no time stamps (timestampValidBits)");
    info.can_import_host = where(report.extensions.external_memory_host, "it has no VK_EXT_external_memory_host");
    info.can_import_memory = where(report.extensions.external_memory_fd, "it has no VK_KHR_external_memory_fd");
    info.can_import_timeline = where(report.extensions.external_semaphore_fd, "it has no VK_KHR_external_semaphore_fd");
    return info;
}

}  // namespace kinetograph::accel::vulkan
