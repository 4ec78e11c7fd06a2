#include <kinetograph/engine/vulkan/inspect.hpp>

#include <kinetograph/engine/vulkan/vk_result.hpp>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

namespace kinetograph::vulkan {
namespace {

std::set<std::string, std::less<>> device_extensions(const Instance& instance, VkPhysicalDevice device) {
    std::uint32_t count = 0;
    instance.table().vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
    std::vector<VkExtensionProperties> properties(count);
    instance.table().vkEnumerateDeviceExtensionProperties(device, nullptr, &count, properties.data());
    std::set<std::string, std::less<>> names;
    for (const auto& property : properties) names.emplace(property.extensionName);
    return names;
}

int preference(VkPhysicalDeviceType type) {
    switch (type) {
        case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
            return 0;
        case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
            return 1;
        case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
            return 2;
        default:
            return 3;
    }
}

void report_features(const Instance& instance, DeviceReport& report) {
    RequiredFeatures features(report.extensions);
    instance.table().vkGetPhysicalDeviceFeatures2(report.handle, features.chain());
    report.compute = features.compute();
    for (const std::string& name : features.missing())
        report.declined.push_back(fmt::format("feature {} is missing", name));
}

void report_extensions(const Instance& instance, VkSurfaceKHR surface, DeviceReport& report) {
    const auto names = device_extensions(instance, report.handle);
    OptionalExtensions& extensions = report.extensions;
    const auto look_for = [&](const char* name, const char* without) {
        const bool found = names.count(name) != 0;
        if (!found) report.missing.push_back(fmt::format("{}: {}", name, without));
        return found;
    };
    extensions.swapchain = look_for(VK_KHR_SWAPCHAIN_EXTENSION_NAME, "no windows");
    extensions.external_memory_fd = look_for(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, "memory is not exportable");
    extensions.external_semaphore_fd =
        look_for(VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME, "timelines are not shared with an accelerator");
    extensions.external_memory_host =
        look_for(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME, "an accelerator's pinned memory is not importable");
    extensions.calibrated_timestamps =
        look_for(VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME, "GPU times are anchored to the host clock by estimate");
    extensions.memory_budget = look_for(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, "free device memory is not known");
    extensions.present_wait =
        look_for(VK_KHR_PRESENT_WAIT_EXTENSION_NAME, "when pictures are on the screen is not known") &&
        PresentFeatures(instance, report.handle).all();
    extensions.cooperative_matrix = names.contains(kCooperativeMatrix);
    extensions.shader_bfloat16 = names.contains(kShaderBfloat16);
    if (surface != VK_NULL_HANDLE && !extensions.swapchain)
        report.declined.emplace_back("extension VK_KHR_swapchain is missing, which a window needs");
}

void report_pci_place(const Instance& instance, DeviceReport& report) {
    if (device_extensions(instance, report.handle).count(VK_EXT_PCI_BUS_INFO_EXTENSION_NAME) == 0) return;
    VkPhysicalDevicePCIBusInfoPropertiesEXT place{};
    place.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT;
    VkPhysicalDeviceProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    properties.pNext = &place;
    instance.table().vkGetPhysicalDeviceProperties2(report.handle, &properties);
    report.pci = PciPlace{place.pciDomain, place.pciBus, place.pciDevice};
}

void report_queues(const Instance& instance, VkSurfaceKHR surface, DeviceReport& report) {
    if (!graphics_family(instance, report.handle, VK_NULL_HANDLE))
        report.declined.emplace_back("no queue family serves both graphics and compute");
    else if (!graphics_family(instance, report.handle, surface))
        report.declined.emplace_back("no graphics queue family can present to this window");
}

DeviceReport inspect(const Instance& instance, VkPhysicalDevice device, VkSurfaceKHR surface) {
    VkPhysicalDeviceIDProperties id{};
    id.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
    VkPhysicalDeviceDriverProperties driver{};
    driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
    driver.pNext = &id;
    VkPhysicalDeviceProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    properties.pNext = &driver;
    instance.table().vkGetPhysicalDeviceProperties2(device, &properties);

    DeviceReport report;
    report.handle = device;
    report.name = properties.properties.deviceName;
    report.driver = fmt::format("{} {}", driver.driverName, driver.driverInfo);
    report.type = to_string(properties.properties.deviceType);
    report.api_version = properties.properties.apiVersion;
    std::memcpy(report.uuid.data(), id.deviceUUID, report.uuid.size());
    VkPhysicalDeviceMemoryProperties2 memory{};
    memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
    instance.table().vkGetPhysicalDeviceMemoryProperties2(device, &memory);
    for (std::uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; ++i)
        if ((memory.memoryProperties.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
            report.device_memory_bytes += memory.memoryProperties.memoryHeaps[i].size;

    if (report.api_version < VK_API_VERSION_1_3) {
        report.declined.push_back(fmt::format("Vulkan {}.{}, but 1.3 is needed",
                                              VK_API_VERSION_MAJOR(report.api_version),
                                              VK_API_VERSION_MINOR(report.api_version)));
        return report;  // its answers to questions about 1.3 would be meaningless
    }
    report_extensions(instance, surface, report);
    report_features(instance, report);
    report_pci_place(instance, report);
    report_queues(instance, surface, report);
    return report;
}

struct RequiredFlag {
    const char* name;
    bool (*is_set)(const VkPhysicalDeviceVulkan12Features&, const VkPhysicalDeviceVulkan13Features&);
};
constexpr RequiredFlag kRequired[] = {
    {"timelineSemaphore", [](const auto& v12, const auto&) { return v12.timelineSemaphore == VK_TRUE; }},
    {"hostQueryReset", [](const auto& v12, const auto&) { return v12.hostQueryReset == VK_TRUE; }},
    {"synchronization2", [](const auto&, const auto& v13) { return v13.synchronization2 == VK_TRUE; }},
    {"dynamicRendering", [](const auto&, const auto& v13) { return v13.dynamicRendering == VK_TRUE; }},
    {"maintenance4", [](const auto&, const auto& v13) { return v13.maintenance4 == VK_TRUE; }},
};

}  // namespace

PresentFeatures::PresentFeatures(void* next) {
    wait_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRESENT_WAIT_FEATURES_KHR;
    wait_.pNext = next;
    wait_.presentWait = VK_TRUE;
    id_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PRESENT_ID_FEATURES_KHR;
    id_.pNext = &wait_;
    id_.presentId = VK_TRUE;
}

PresentFeatures::PresentFeatures(const Instance& instance, VkPhysicalDevice device) : PresentFeatures(nullptr) {
    VkPhysicalDeviceFeatures2 query{};
    query.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    query.pNext = &id_;
    instance.table().vkGetPhysicalDeviceFeatures2(device, &query);
}

RequiredFeatures::RequiredFeatures(const OptionalExtensions& extensions) {
    vulkan13_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
    vulkan12_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    vulkan12_.pNext = &vulkan13_;
    vulkan11_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
    vulkan11_.pNext = &vulkan12_;
    features_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    features_.pNext = &vulkan11_;
    if (extensions.cooperative_matrix) matrices_.pNext = std::exchange(features_.pNext, &matrices_);
    if (extensions.shader_bfloat16) bfloat16_.pNext = std::exchange(features_.pNext, &bfloat16_);
}

void RequiredFeatures::require_all() {
    vulkan12_.timelineSemaphore = VK_TRUE;
    vulkan12_.hostQueryReset = VK_TRUE;
    vulkan13_.synchronization2 = VK_TRUE;
    vulkan13_.dynamicRendering = VK_TRUE;
    vulkan13_.maintenance4 = VK_TRUE;  // sizes of images before they exist; work group sizes of SPIR-V 1.6
}

std::vector<std::string> RequiredFeatures::missing() const {
    std::vector<std::string> names;
    for (const RequiredFlag& flag : kRequired)
        if (!flag.is_set(vulkan12_, vulkan13_)) names.emplace_back(flag.name);
    return names;
}

ComputeFeatures RequiredFeatures::compute() const {
    const auto set = [](auto... flags) { return ((flags == VK_TRUE) && ...); };
    return {.addresses = set(vulkan12_.bufferDeviceAddress),
            .subgroup_sizes = set(vulkan13_.subgroupSizeControl, vulkan13_.computeFullSubgroups),
            .memory_model = set(vulkan12_.vulkanMemoryModel, vulkan12_.vulkanMemoryModelDeviceScope),
            .scalar_layout = set(vulkan12_.scalarBlockLayout),
            .int16 = set(features_.features.shaderInt16),
            .int64 = set(features_.features.shaderInt64),
            .storage16 = set(vulkan11_.storageBuffer16BitAccess),
            .float16 = set(vulkan12_.shaderFloat16),
            .storage8 = set(vulkan12_.storageBuffer8BitAccess),
            .int8 = set(vulkan12_.shaderInt8),
            .dot_products = set(vulkan13_.shaderIntegerDotProduct),
            .matrices = set(matrices_.cooperativeMatrix),
            .bfloat16 = set(bfloat16_.shaderBFloat16Type),
            .bfloat16_matrices = set(bfloat16_.shaderBFloat16CooperativeMatrix)};
}

void RequiredFeatures::enable(const ComputeFeatures& compute) {
    const auto set = [](bool wanted, auto&... flags) { ((flags = wanted ? VK_TRUE : VK_FALSE), ...); };
    set(compute.addresses, vulkan12_.bufferDeviceAddress);
    set(compute.subgroup_sizes, vulkan13_.subgroupSizeControl, vulkan13_.computeFullSubgroups);
    set(compute.memory_model, vulkan12_.vulkanMemoryModel, vulkan12_.vulkanMemoryModelDeviceScope);
    set(compute.scalar_layout, vulkan12_.scalarBlockLayout);
    set(compute.int16, features_.features.shaderInt16);
    set(compute.int64, features_.features.shaderInt64);
    set(compute.storage16, vulkan11_.storageBuffer16BitAccess);
    set(compute.float16, vulkan12_.shaderFloat16);
    set(compute.storage8, vulkan12_.storageBuffer8BitAccess);
    set(compute.int8, vulkan12_.shaderInt8);
    set(compute.dot_products, vulkan13_.shaderIntegerDotProduct);
    set(compute.matrices, matrices_.cooperativeMatrix);
    set(compute.bfloat16, bfloat16_.shaderBFloat16Type);
    set(compute.bfloat16_matrices, bfloat16_.shaderBFloat16CooperativeMatrix);
}

/// A host may enable a feature through a version's structure or through that of the original extension.
void RequiredFeatures::read(const void* create_chain) {
    for (const auto* link = static_cast<const VkBaseInStructure*>(create_chain); link != nullptr; link = link->pNext) {
        const void* const structure = link;
        switch (static_cast<int>(link->sType)) {
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2: {
                const auto& of = static_cast<const VkPhysicalDeviceFeatures2*>(structure)->features;
                features_.features.shaderInt16 |= of.shaderInt16;
                features_.features.shaderInt64 |= of.shaderInt64;
                break;
            }
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES:
                vulkan11_.storageBuffer16BitAccess |=
                    static_cast<const VkPhysicalDeviceVulkan11Features*>(structure)->storageBuffer16BitAccess;
                break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES: {
                const auto& of = *static_cast<const VkPhysicalDeviceVulkan12Features*>(structure);
                vulkan12_.timelineSemaphore |= of.timelineSemaphore;
                vulkan12_.hostQueryReset |= of.hostQueryReset;
                vulkan12_.bufferDeviceAddress |= of.bufferDeviceAddress;
                vulkan12_.vulkanMemoryModel |= of.vulkanMemoryModel;
                vulkan12_.vulkanMemoryModelDeviceScope |= of.vulkanMemoryModelDeviceScope;
                vulkan12_.scalarBlockLayout |= of.scalarBlockLayout;
                vulkan12_.shaderFloat16 |= of.shaderFloat16;
                vulkan12_.storageBuffer8BitAccess |= of.storageBuffer8BitAccess;
                vulkan12_.shaderInt8 |= of.shaderInt8;
                break;
            }
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES: {
                const auto& of = *static_cast<const VkPhysicalDeviceVulkan13Features*>(structure);
                vulkan13_.synchronization2 |= of.synchronization2;
                vulkan13_.dynamicRendering |= of.dynamicRendering;
                vulkan13_.maintenance4 |= of.maintenance4;
                vulkan13_.subgroupSizeControl |= of.subgroupSizeControl;
                vulkan13_.computeFullSubgroups |= of.computeFullSubgroups;
                vulkan13_.shaderIntegerDotProduct |= of.shaderIntegerDotProduct;
                break;
            }
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES:
                vulkan12_.timelineSemaphore |=
                    static_cast<const VkPhysicalDeviceTimelineSemaphoreFeatures*>(structure)->timelineSemaphore;
                break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES:
                vulkan12_.hostQueryReset |=
                    static_cast<const VkPhysicalDeviceHostQueryResetFeatures*>(structure)->hostQueryReset;
                break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES:
                vulkan13_.synchronization2 |=
                    static_cast<const VkPhysicalDeviceSynchronization2Features*>(structure)->synchronization2;
                break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DYNAMIC_RENDERING_FEATURES:
                vulkan13_.dynamicRendering |=
                    static_cast<const VkPhysicalDeviceDynamicRenderingFeatures*>(structure)->dynamicRendering;
                break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES:
                vulkan13_.maintenance4 |=
                    static_cast<const VkPhysicalDeviceMaintenance4Features*>(structure)->maintenance4;
                break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES:
                vulkan12_.bufferDeviceAddress |=
                    static_cast<const VkPhysicalDeviceBufferDeviceAddressFeatures*>(structure)->bufferDeviceAddress;
                break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES: {
                const auto& of = *static_cast<const VkPhysicalDeviceSubgroupSizeControlFeatures*>(structure);
                vulkan13_.subgroupSizeControl |= of.subgroupSizeControl;
                vulkan13_.computeFullSubgroups |= of.computeFullSubgroups;
                break;
            }
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES: {
                const auto& of = *static_cast<const VkPhysicalDeviceVulkanMemoryModelFeatures*>(structure);
                vulkan12_.vulkanMemoryModel |= of.vulkanMemoryModel;
                vulkan12_.vulkanMemoryModelDeviceScope |= of.vulkanMemoryModelDeviceScope;
                break;
            }
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SCALAR_BLOCK_LAYOUT_FEATURES:
                vulkan12_.scalarBlockLayout |=
                    static_cast<const VkPhysicalDeviceScalarBlockLayoutFeatures*>(structure)->scalarBlockLayout;
                break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES:
                vulkan11_.storageBuffer16BitAccess |=
                    static_cast<const VkPhysicalDevice16BitStorageFeatures*>(structure)->storageBuffer16BitAccess;
                break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES:
                vulkan12_.storageBuffer8BitAccess |=
                    static_cast<const VkPhysicalDevice8BitStorageFeatures*>(structure)->storageBuffer8BitAccess;
                break;
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES: {
                const auto& of = *static_cast<const VkPhysicalDeviceShaderFloat16Int8Features*>(structure);
                vulkan12_.shaderFloat16 |= of.shaderFloat16;
                vulkan12_.shaderInt8 |= of.shaderInt8;
                break;
            }
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES:
                vulkan13_.shaderIntegerDotProduct |=
                    static_cast<const VkPhysicalDeviceShaderIntegerDotProductFeatures*>(structure)
                        ->shaderIntegerDotProduct;
                break;
            case static_cast<int>(CooperativeMatrixFeatures{}.sType):
                matrices_.cooperativeMatrix |=
                    static_cast<const CooperativeMatrixFeatures*>(structure)->cooperativeMatrix;
                break;
            case static_cast<int>(ShaderBfloat16Features{}.sType): {
                const auto& of = *static_cast<const ShaderBfloat16Features*>(structure);
                bfloat16_.shaderBFloat16Type |= of.shaderBFloat16Type;
                bfloat16_.shaderBFloat16CooperativeMatrix |= of.shaderBFloat16CooperativeMatrix;
                break;
            }
            default:
                break;
        }
    }
}

std::string_view to_string(VkPhysicalDeviceType type) {
    switch (type) {
        case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
            return "discrete GPU";
        case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
            return "integrated GPU";
        case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
            return "virtual GPU";
        case VK_PHYSICAL_DEVICE_TYPE_CPU:
            return "CPU";
        default:
            return "other device";
    }
}

std::vector<VkQueueFamilyProperties> queue_families(const Instance& instance, VkPhysicalDevice device) {
    std::uint32_t count = 0;
    instance.table().vkGetPhysicalDeviceQueueFamilyProperties2(device, &count, nullptr);
    VkQueueFamilyProperties2 empty{};
    empty.sType = VK_STRUCTURE_TYPE_QUEUE_FAMILY_PROPERTIES_2;
    std::vector<VkQueueFamilyProperties2> extended(count, empty);
    instance.table().vkGetPhysicalDeviceQueueFamilyProperties2(device, &count, extended.data());
    std::vector<VkQueueFamilyProperties> families;
    families.reserve(extended.size());
    for (const auto& family : extended) families.push_back(family.queueFamilyProperties);
    return families;
}

std::optional<std::uint32_t> graphics_family(const Instance& instance, VkPhysicalDevice device, VkSurfaceKHR surface) {
    const auto families = queue_families(instance, device);
    constexpr VkQueueFlags kWanted = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
    for (std::uint32_t family = 0; family < families.size(); ++family) {
        if ((families[family].queueFlags & kWanted) != kWanted) continue;
        VkBool32 presents = VK_TRUE;
        if (surface != VK_NULL_HANDLE)
            instance.table().vkGetPhysicalDeviceSurfaceSupportKHR(device, family, surface, &presents);
        if (presents == VK_TRUE) return family;
    }
    return std::nullopt;
}

Result<std::vector<DeviceReport>> inspect_devices(const Instance& instance, VkSurfaceKHR surface) {
    std::uint32_t count = 0;
    if (const VkResult result = instance.table().vkEnumeratePhysicalDevices(instance.handle(), &count, nullptr);
        result != VK_SUCCESS)
        return fail(result, "vkEnumeratePhysicalDevices");
    if (count == 0)
        return kinetograph::fail(ErrorCode::NotFound, "Vulkan is installed but finds no device: Vulkan lanes off");
    std::vector<VkPhysicalDevice> devices(count);
    instance.table().vkEnumeratePhysicalDevices(instance.handle(), &count, devices.data());

    std::vector<DeviceReport> reports;
    reports.reserve(devices.size());
    for (VkPhysicalDevice device : devices) reports.push_back(inspect(instance, device, surface));
    const auto rank = [&](const DeviceReport& report) {
        VkPhysicalDeviceProperties2 properties{};
        properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
        instance.table().vkGetPhysicalDeviceProperties2(report.handle, &properties);
        return std::pair(!report.usable(), preference(properties.properties.deviceType));
    };
    std::stable_sort(reports.begin(), reports.end(),
                     [&](const DeviceReport& a, const DeviceReport& b) { return rank(a) < rank(b); });
    return reports;
}

}  // namespace kinetograph::vulkan
