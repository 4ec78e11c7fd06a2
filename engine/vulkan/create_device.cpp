#include <kinetograph/engine/vulkan/api.hpp>
#include <kinetograph/engine/vulkan/device.hpp>
#include <kinetograph/engine/vulkan/vk_result.hpp>

#include <algorithm>
#include <map>

namespace kinetograph::vulkan {
namespace {

/// A queue of the device to be created: the `index`-th of `family`.
struct QueueChoice {
    std::uint32_t family = 0;
    std::uint32_t index = 0;
};

/// Graphics, async compute and transfer each on its own queue if the device has them: a specialised family first, then
/// another queue of a family in use, else the graphics queue.
std::array<QueueChoice, 3> choose_queues(const std::vector<VkQueueFamilyProperties>& families, std::uint32_t graphics) {
    std::vector<std::uint32_t> taken(families.size(), 0);
    ++taken[graphics];
    const auto take = [&](VkQueueFlags wanted, VkQueueFlags unwanted) -> std::optional<QueueChoice> {
        for (std::uint32_t family = 0; family < families.size(); ++family) {
            const VkQueueFamilyProperties& properties = families[family];
            const auto& granularity = properties.minImageTransferGranularity;
            if ((properties.queueFlags & wanted) != wanted || (properties.queueFlags & unwanted) != 0) continue;
            if (granularity.width != 1 || granularity.height != 1) continue;
            if (taken[family] < properties.queueCount) return QueueChoice{family, taken[family]++};
        }
        return std::nullopt;
    };
    const QueueChoice first{graphics, 0};
    const auto compute = take(VK_QUEUE_COMPUTE_BIT, VK_QUEUE_GRAPHICS_BIT);
    const QueueChoice async = compute ? *compute : take(VK_QUEUE_COMPUTE_BIT, 0).value_or(first);
    const auto copy = take(VK_QUEUE_TRANSFER_BIT, VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT);
    const QueueChoice transfer = copy ? *copy : take(VK_QUEUE_COMPUTE_BIT, 0).value_or(first);
    return {first, async, transfer};
}

std::vector<const char*> extensions_to_enable(const DeviceReport& report, VkSurfaceKHR surface) {
    std::vector<const char*> names;
    if (surface != VK_NULL_HANDLE) names.push_back(VK_KHR_SWAPCHAIN_EXTENSION_NAME);
    if (report.extensions.external_memory_fd) names.push_back(VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME);
    if (report.extensions.external_semaphore_fd) names.push_back(VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME);
    if (report.extensions.external_memory_host) names.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
    if (report.extensions.calibrated_timestamps) names.push_back(VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);
    if (report.extensions.memory_budget) names.push_back(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    if (report.extensions.cooperative_matrix) names.push_back(kCooperativeMatrix);
    if (report.extensions.shader_bfloat16) names.push_back(kShaderBfloat16);
    if (report.extensions.present_wait) {
        names.push_back(VK_KHR_PRESENT_ID_EXTENSION_NAME);
        names.push_back(VK_KHR_PRESENT_WAIT_EXTENSION_NAME);
    }
    return names;
}

Result<DeviceReport> choose(const Instance& instance, const DeviceOptions& options) {
    KG_TRY(auto reports, inspect_devices(instance, options.surface));
    std::string reasons;
    for (DeviceReport& report : reports) {
        if (options.physical != VK_NULL_HANDLE && report.handle != options.physical) continue;
        if (report.name.find(options.name_contains) == std::string::npos)
            report.declined.push_back(fmt::format("its name does not contain \"{}\"", options.name_contains));
        if (report.usable()) return report;
        for (const std::string& reason : report.declined) reasons += fmt::format("\n  {}: {}", report.name, reason);
    }
    return kinetograph::fail(ErrorCode::Unsupported, "no Vulkan device can be used: Vulkan lanes off{}", reasons);
}

}  // namespace

Result<std::unique_ptr<Device>> Device::create(const Instance& instance, const DeviceOptions& options) {
    KG_TRY(auto report, choose(instance, options));
    if (options.surface == VK_NULL_HANDLE) report.extensions.swapchain = report.extensions.present_wait = false;

    const auto families = queue_families(instance, report.handle);
    const auto choices = choose_queues(families, *graphics_family(instance, report.handle, options.surface));
    std::map<std::uint32_t, std::uint32_t> queue_counts;
    for (const QueueChoice& choice : choices)
        queue_counts[choice.family] = std::max(queue_counts[choice.family], choice.index + 1);
    constexpr std::array kPriorities{1.0F, 1.0F, 1.0F};
    std::vector<VkDeviceQueueCreateInfo> queue_infos;
    for (const auto& [family, count] : queue_counts) {
        VkDeviceQueueCreateInfo info{};
        info.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
        info.queueFamilyIndex = family;
        info.queueCount = count;
        info.pQueuePriorities = kPriorities.data();
        queue_infos.push_back(info);
    }
    RequiredFeatures features(report.extensions);
    features.require_all();
    features.enable(report.compute);
    PresentFeatures present(features.chain());
    const auto extensions = extensions_to_enable(report, options.surface);
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = report.extensions.present_wait ? present.chain() : features.chain();
    info.queueCreateInfoCount = static_cast<std::uint32_t>(queue_infos.size());
    info.pQueueCreateInfos = queue_infos.data();
    info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    VkDevice handle = VK_NULL_HANDLE;
    if (const VkResult result = instance.table().vkCreateDevice(report.handle, &info, nullptr, &handle);
        result != VK_SUCCESS)
        return fail(result, report.name + ": vkCreateDevice");

    std::unique_ptr<Device> device(new Device(instance, std::move(report), handle, true));
    std::array<Queue, 3> queues;
    for (std::size_t lane = 0; lane < queues.size(); ++lane) {
        const QueueChoice& choice = choices[lane];
        device->table().vkGetDeviceQueue(handle, choice.family, choice.index, &queues[lane].handle);
        queues[lane].family = choice.family;
    }
    device->set_queues(queues);
    KG_CHECK(device->finish());
    return device;
}

}  // namespace kinetograph::vulkan
